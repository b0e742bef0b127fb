//! Reads the source of a manual page, strictly: what it does not know is an error
//! that names the line, and so is what could not be copied from the page.

/// What a piece of text looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Font {
    Roman,
    Bold,
    Italic,
}

/// Text in one font.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) font: Font,
    pub(super) text: String,
}

/// A tagged paragraph.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) tag: Vec<Span>,
    pub(super) body: Vec<Span>,
}

/// What stands between `.EX` and `.EE`.
#[derive(Debug)]
pub(super) struct Example {
    /// What a comment right above says is to be run before it.
    pub(super) before: Option<String>,
    pub(super) lines: Vec<String>,
}

/// A section, or a subsection, which is `under` a section.
#[derive(Debug)]
pub(super) struct Section {
    pub(super) under: String,
    pub(super) title: String,
    pub(super) prose: Vec<Span>,
    pub(super) entries: Vec<Entry>,
    pub(super) examples: Vec<Example>,
}

impl Section {
    /// All its text but the examples.
    pub(super) fn spans(&self) -> impl Iterator<Item = &Span> {
        let entries = self.entries.iter().flat_map(|entry| entry.tag.iter().chain(&entry.body));
        self.prose.iter().chain(entries)
    }
}

/// The words of the title line, and the sections.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) title: Vec<String>,
    pub(super) sections: Vec<Section>,
}

/// The text of spans, without fonts and line breaks.
pub(super) fn plain<'a>(spans: impl IntoIterator<Item = &'a Span>) -> String {
    let text: String = spans.into_iter().map(|span| span.text.as_str()).collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Reads a page.
pub(super) fn read(source: &str) -> Result<Page, String> {
    let page = Page { title: Vec::new(), sections: Vec::new() };
    let mut reader = Reader { page, next: Next::Text, example: None, before: None };
    for (at, line) in source.lines().enumerate() {
        reader.line(line).map_err(|why| format!("line {}: {why}: {line}", at + 1))?;
    }
    if reader.example.is_some() || reader.next == Next::Tag || !source.ends_with('\n') {
        return Err("it ends in the middle".to_owned());
    }
    Ok(reader.page)
}

/// What the next line of text is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Text,
    Tag,
    Body,
}

struct Reader {
    page: Page,
    next: Next,
    example: Option<Example>,
    before: Option<String>,
}

impl Reader {
    fn line(&mut self, line: &str) -> Result<(), String> {
        if line.is_empty() || line.ends_with(' ') || !line.is_ascii() {
            return Err("empty, with a blank at its end, or not ASCII".to_owned());
        }
        if let Some(comment) = line.strip_prefix(".\\\"") {
            self.before = comment.strip_prefix(" before: ").map(str::to_owned);
            return Ok(());
        }
        if line == ".EE" {
            let example = self.example.take().ok_or("no example is to end here")?;
            self.section()?.examples.push(example);
            return Ok(());
        }
        if let Some(example) = &mut self.example {
            example.lines.push(typed(line)?);
            return Ok(());
        }
        let before = self.before.take();
        if before.is_some() && line != ".EX" {
            return Err("\"before\" belongs right above an example".to_owned());
        }
        match line.strip_prefix('.') {
            Some(request) => self.request(&words(request)?, before),
            None if line.starts_with('\'') => Err("it begins like a request".to_owned()),
            None => spans(line).and_then(|spans| self.text(spans)),
        }
    }

    fn request(&mut self, words: &[String], before: Option<String>) -> Result<(), String> {
        let (name, arguments) = words.split_first().ok_or("no request")?;
        if self.next == Next::Tag && !["B", "I", "BR", "IR"].contains(&name.as_str()) {
            return Err("a tag is missing".to_owned());
        }
        match (name.as_str(), arguments) {
            ("TH", _) => {
                self.page.title =
                    arguments.iter().map(|word| unfonted(word)).collect::<Result<_, _>>()?;
            }
            ("SH" | "SS", [_, ..]) => {
                let title = unfonted(&arguments.join(" "))?;
                let under = match (name.as_str(), self.page.sections.last()) {
                    ("SS", above) => above.ok_or("it is under no section")?.under.clone(),
                    _ => title.clone(),
                };
                self.page.sections.push(Section {
                    under,
                    title,
                    prose: Vec::new(),
                    entries: Vec::new(),
                    examples: Vec::new(),
                });
                self.next = Next::Text;
            }
            ("PP", []) | ("IP", [_, _]) => self.next = Next::Text,
            ("TP", []) => self.next = Next::Tag,
            ("EX", []) => self.example = Some(Example { before, lines: Vec::new() }),
            ("B" | "I", [_, ..]) => {
                let font = font(name.as_bytes()[0])?;
                self.text(vec![span(font, &arguments.join(" "))?])?;
            }
            ("BR" | "IR", [_, _, ..]) => {
                let fonts = [font(name.as_bytes()[0])?, Font::Roman].into_iter().cycle();
                let spans = fonts.zip(arguments).map(|(font, word)| span(font, word));
                self.text(spans.collect::<Result<_, _>>()?)?;
            }
            ("br" | "nh", []) => {}
            // Words are neither spread nor hyphenated, so that they can be copied.
            ("ad", [how]) if how == "l" => {}
            ("nr", [register, value]) if register == "HY" && value == "0" => {}
            _ => return Err("this request is not for our pages".to_owned()),
        }
        Ok(())
    }

    fn section(&mut self) -> Result<&mut Section, String> {
        self.page.sections.last_mut().ok_or_else(|| "it is in no section".to_owned())
    }

    fn text(&mut self, mut spans: Vec<Span>) -> Result<(), String> {
        let next = self.next;
        let section = self.section()?;
        if next == Next::Tag {
            section.entries.push(Entry { tag: spans, body: Vec::new() });
            self.next = Next::Body;
            return Ok(());
        }
        spans.push(Span { font: Font::Roman, text: " ".to_owned() });
        match section.entries.last_mut() {
            Some(entry) if next == Next::Body => entry.body.extend(spans),
            _ => section.prose.extend(spans),
        }
        Ok(())
    }
}

fn font(letter: u8) -> Result<Font, String> {
    match letter {
        b'R' => Ok(Font::Roman),
        b'B' => Ok(Font::Bold),
        b'I' => Ok(Font::Italic),
        _ => Err("an unknown font".to_owned()),
    }
}

/// The name of a request and its arguments.
fn words(request: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut rest = request.trim_start();
    while !rest.is_empty() {
        let (word, after) = match rest.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').ok_or("a quote is left open")?,
            None => rest.split_once(' ').unwrap_or((rest, "")),
        };
        words.push(word.to_owned());
        rest = after.trim_start();
    }
    Ok(words)
}

/// Where groff would make something typographic of what is to be typed.
const TO_BE_ESCAPED: [(char, &str); 5] =
    [('-', "\\-"), ('\'', "\\(aq"), ('`', "\\(ga"), ('^', "\\(ha"), ('~', "\\(ti")];

/// A line of an example, as it is to be typed.
fn typed(line: &str) -> Result<String, String> {
    let rest = line.replace("\\-", "");
    if let Some((_, escape)) = TO_BE_ESCAPED.iter().find(|(raw, _)| rest.contains(*raw)) {
        return Err(format!("write {escape} in an example"));
    }
    if line.starts_with('.') {
        return Err("it is taken for a request".to_owned());
    }
    unfonted(line)
}

/// Text without fonts.
fn unfonted(text: &str) -> Result<String, String> {
    match spans(text)?.as_slice() {
        [] => Ok(String::new()),
        [Span { font: Font::Roman, text }] => Ok(text.clone()),
        _ => Err("no font can be chosen here".to_owned()),
    }
}

/// One argument of a request that chooses its font.
fn span(font: Font, source: &str) -> Result<Span, String> {
    if font != Font::Roman {
        check_dashes(source)?;
    }
    Ok(Span { font, text: unfonted(source)? })
}

/// A dash of what is to be typed must be one when it is copied from the page.
fn check_dashes(source: &str) -> Result<(), String> {
    if source.replace("\\-", "").contains('-') {
        return Err("write \\- in what is to be typed".to_owned());
    }
    Ok(())
}

/// Reads escapes.
fn spans(line: &str) -> Result<Vec<Span>, String> {
    let mut spans: Vec<Span> = Vec::new();
    let mut now = Font::Roman;
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let (text, length) = match first {
            '\\' if rest.starts_with("\\f") => {
                now = font(*rest.as_bytes().get(2).ok_or("half an escape")?)?;
                ("", 3)
            }
            '\\' => escape(rest).ok_or("an unknown escape")?,
            '-' if now != Font::Roman => return Err("write \\- in what is to be typed".to_owned()),
            _ => (&rest[..1], 1),
        };
        match spans.last_mut() {
            Some(last) if last.font == now => last.text.push_str(text),
            _ if text.is_empty() => {}
            _ => spans.push(Span { font: now, text: text.to_owned() }),
        }
        rest = &rest[length..];
    }
    if now != Font::Roman {
        return Err("a font is left open".to_owned());
    }
    Ok(spans)
}

/// What an escape stands for, and its length.
fn escape(text: &str) -> Option<(&'static str, usize)> {
    const ESCAPES: [(&str, &str); 12] = [
        ("\\-", "-"),
        ("\\e", "\\"),
        ("\\&", ""),
        ("\\(aq", "'"),
        ("\\(ga", "`"),
        ("\\(ha", "^"),
        ("\\(ti", "~"),
        ("\\(dq", "\""),
        ("\\(lq", "\u{201c}"),
        ("\\(rq", "\u{201d}"),
        ("\\(bu", "\u{2022}"),
        ("\\ ", " "),
    ];
    let found = ESCAPES.into_iter().find(|(escape, _)| text.starts_with(escape))?;
    Some((found.1, found.0.len()))
}

/// The head of a page for what is to be read.
const HEAD: &str = ".TH A 1 d v m\n.SH OPTIONS\n";

#[track_caller]
fn assert_refused(source: &str, why: &str) {
    let said = read(source).expect_err(source);
    assert!(said.contains(why), "{source}: {said}");
}

#[test]
fn a_page_is_read_as_sections_entries_and_examples() {
    let page = read(&format!(
        "{HEAD}Some\nprose.\n.TP\n\\fB\\-w\\fR, \\fB\\-\\-wait\\fR \\fIDUR\\fR\nWait,\n.BR once (1).\n.PP\n\
         More.\n.SS Typed\n.\\\" before: true\n.EX\n$ echo \\(aqa b\\(aq \\e\n.EE\n"
    ));
    let page = page.unwrap();
    assert_eq!(page.title, ["A", "1", "d", "v", "m"]);
    let [options, typed] = page.sections.as_slice() else { panic!("{page:?}") };
    assert_eq!((options.title.as_str(), options.under.as_str()), ("OPTIONS", "OPTIONS"));
    assert_eq!(plain(&options.prose), "Some prose. More.");
    let [entry] = options.entries.as_slice() else { panic!("{page:?}") };
    assert_eq!(plain(&entry.tag), "-w, --wait DUR");
    assert_eq!(entry.tag[2], Span { font: Font::Bold, text: "--wait".to_owned() });
    assert_eq!(plain(&entry.body), "Wait, once(1).");
    assert_eq!((typed.title.as_str(), typed.under.as_str()), ("Typed", "OPTIONS"));
    assert_eq!(typed.examples[0].lines, ["$ echo 'a b' \\"]);
    assert_eq!(typed.examples[0].before.as_deref(), Some("true"));
}

#[test]
fn what_could_not_be_copied_from_a_page_is_refused() {
    for (line, why) in [
        ("\\fB--wait\\fR", "write \\-"),
        (".B --wait", "write \\-"),
        (".BR a-b (1)", "write \\-"),
        (".EX\n$ ls -l\n.EE", "write \\- in an example"),
        (".EX\n$ echo 'a'\n.EE", "write \\(aq in an example"),
        (".EX\n$ echo `a`\n.EE", "write \\(ga in an example"),
        (".EX\n$ ls ~\n.EE", "write \\(ti in an example"),
    ] {
        assert_refused(&format!("{HEAD}{line}\n"), why);
    }
}

#[test]
fn what_is_not_known_of_a_page_is_refused() {
    for (line, why) in [
        ("\\fBbold", "a font is left open"),
        ("\\*(lq", "an unknown escape"),
        (".Fl w", "this request is not for our pages"),
        (".BR \"a (1)", "a quote is left open"),
        (".TP\n.PP", "a tag is missing"),
        (".TP", "it ends in the middle"),
        (".EX\n$ true", "it ends in the middle"),
        (".EX\n.SH A", "it is taken for a request"),
        (".EE", "no example is to end here"),
        (".\\\" before: true\nText.", "right above an example"),
        ("\nText.", "empty"),
        ("Text. ", "a blank at its end"),
        ("\u{2026}", "not ASCII"),
        ("'tis", "it begins like a request"),
    ] {
        assert_refused(&format!("{HEAD}{line}\n"), why);
    }
    assert_refused("Text.\n", "it is in no section");
}
