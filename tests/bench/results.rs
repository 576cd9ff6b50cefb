//! The table that comes out.

use super::measure::PROGRAM;

/// One line.
struct Row {
    what: String,
    target: String,
    reached: String,
    met: Option<bool>,
}

/// All lines so far.
#[derive(Default)]
pub struct Results {
    rows: Vec<Row>,
}

impl Results {
    /// A figure that must not exceed `most`, in `unit`.
    pub fn at_most(&mut self, what: &str, most: f64, reached: f64, unit: &str, more: &str) {
        self.row(what, format!("≤ {most} {unit}"), format!("{} {unit}{more}", figure(reached)), Some(reached <= most));
    }

    /// A figure that must reach `least`, in `unit`.
    pub fn at_least(&mut self, what: &str, least: f64, reached: f64, unit: &str, more: &str) {
        self.row(
            what,
            format!("≥ {least} {unit}"),
            format!("{} {unit}{more}", figure(reached)),
            Some(reached >= least),
        );
    }

    /// A figure without a target.
    pub fn note(&mut self, what: &str, reached: String) {
        self.row(what, String::new(), reached, None);
    }

    fn row(&mut self, what: &str, target: String, reached: String, met: Option<bool>) {
        // While it runs, so that a run that is cut short was not for nothing.
        println!("{what}: {reached}");
        self.rows.push(Row { what: what.to_owned(), target, reached, met });
    }

    /// The program's own size.
    pub fn size(&mut self) {
        let mib = std::fs::metadata(PROGRAM).unwrap().len() as f64 / f64::from(1 << 20);
        if cfg!(debug_assertions) {
            self.note("the program, not a release build", format!("{} MiB", figure(mib)));
        } else {
            self.at_most("release binary, stripped", 6.0, mib, "MiB", "");
        }
    }

    pub fn print(&self) {
        println!("\n| what | target | reached | |\n|---|---|---|---|");
        for Row { what, target, reached, met } in &self.rows {
            let word = met.map_or("", |met| if met { "ok" } else { "MISSED" });
            println!("| {what} | {target} | {reached} | {word} |");
        }
        if cfg!(debug_assertions) {
            println!("\nThis is not a release build: its figures say that everything works, and no more.");
        }
    }
}

/// Three digits.
pub fn figure(value: f64) -> String {
    let digits = match value.abs() {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.digits$}")
}
