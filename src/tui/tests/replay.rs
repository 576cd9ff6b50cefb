//! Replay: moving through recorded time, the index, the bar; and recordings of real sockets that tell what the live run told.
#![allow(clippy::disallowed_methods)]

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::frames::{Display, contains};
use super::world::{Does, WALL_US, World};
use crate::diagnose::{Level, Verdict};
use crate::filter::Filter;
use crate::lab::{self, Places, Stop, Traffic};
use crate::model::Moment;
use crate::tui::build::Builder;
use crate::tui::drive::{Drive, Stepped};
use crate::tui::live::Live;
use crate::tui::message::{Action, Control, Edit, Effect, Message, Take};
use crate::tui::replay::aim::Aim;
use crate::tui::replay::index::{Index, Place};
use crate::tui::replay::{OpenError, Replay};
use crate::tui::state::Mode;
use crate::tui::view::{Playback, Recording, Row, Said, View};
use crate::watch::{Watch, WatchOptions};

/// Generous: what is waited for takes milliseconds on an idle machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// The world's first moment, µs.
const BEGIN: u64 = 100_000_000;

/// Steps a drive until something is so.
fn step_until(drive: &mut dyn Drive, what: &str, done: &mut dyn FnMut(&mut dyn Drive, Stepped) -> bool) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let stepped = drive.step().expect("a step");
        if done(drive, stepped) {
            return;
        }
        assert!(Instant::now() < deadline, "not so in {PATIENCE:?}: {what}");
        std::thread::sleep(drive.rest());
    }
}

fn playback(drive: &dyn Drive) -> Arc<Playback> {
    drive.playback().expect("a replay")
}

/// A replay of a recording, paused, with its index complete.
struct Player {
    replay: Replay,
    _folder: TempDir,
}

impl Player {
    fn of(recording: &[u8]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.ssrec");
        std::fs::write(&path, recording).unwrap();
        let mut player = Self { replay: Replay::open(&[path]).unwrap(), _folder: folder };
        player.replay.control(Control::PlayPause);
        assert!(!playback(&player.replay).playing);
        step_until(&mut player.replay, "an index", &mut |drive, _| playback(drive).index.complete);
        player
    }

    /// Moves, and waits until it is there.
    fn go(&mut self, control: Control) -> u64 {
        self.replay.control(control);
        step_until(&mut self.replay, "arrival", &mut |drive, _| !playback(drive).seeking);
        playback(&self.replay).position.0
    }

    fn rows(&mut self) -> Vec<Row> {
        rows(&mut self.replay)
    }

    fn index(&self) -> Arc<Index> {
        Arc::clone(&playback(&self.replay).index)
    }
}

fn rows(drive: &mut dyn Drive) -> Vec<Row> {
    let view = Builder::default().view(drive.engine(), Duration::ZERO);
    let mut rows = view.rows.to_vec();
    rows.sort_unstable_by_key(|row| row.id);
    rows
}

/// Five seconds: a stall for the first three, a mark after two.
fn world() -> World {
    let mut world = World::new(&[Does::StallUntil(103_000), Does::Nothing]);
    world.pass(2_000);
    world.mark("deploy");
    world.pass(7_000);
    world.name("ruby");
    world
}

#[test]
fn the_end_shows_what_the_live_run_showed_and_the_start_is_found_again() {
    let mut world = world();
    let live = world.view();
    let mut player = Player::of(&world.recording());
    let at_start = player.rows();
    assert_eq!((at_start.len(), at_start[0].level), (2, Some(Level::Paired)));
    assert_eq!(player.go(Control::End), playback(&player.replay).index.last.0);
    assert_eq!(player.rows(), {
        let mut rows = live.rows.to_vec();
        rows.sort_unstable_by_key(|row| row.id);
        rows
    });
    assert_eq!(player.replay.named().len(), 4);
    assert_eq!(player.go(Control::Start), BEGIN);
    assert_eq!(player.rows(), at_start);
}

#[test]
fn steps_go_from_look_to_look_and_back_to_the_same_ones() {
    let mut player = Player::of(&world().recording());
    let forth: Vec<_> = (0..30).map(|_| player.go(Control::StepOn)).collect();
    assert!(forth.windows(2).all(|pair| pair[0] < pair[1]), "{forth:?}");
    let rows = player.rows();
    let back: Vec<_> = (0..29).map(|_| player.go(Control::StepBack)).collect();
    assert!(back.iter().eq(forth.iter().rev().skip(1)), "{forth:?} {back:?}");
    player.go(Control::StepBack);
    assert_eq!(player.go(Control::StepBack), BEGIN);
    for _ in 0..30 {
        player.go(Control::StepOn);
    }
    assert_eq!(player.rows(), rows);
}

#[test]
fn the_index_tells_when_it_stalled_what_changed_and_where_the_marks_are() {
    let mut player = Player::of(&world().recording());
    let index = player.index();
    assert_eq!(index.first, Moment(BEGIN));
    assert_eq!(index.wall_us(index.first), Some(WALL_US + i64::try_from(BEGIN).unwrap()));
    // A stall counts as lasting for two seconds after its last hold.
    let [(from, until)] = index.stalls[..] else { panic!("{:?}", index.stalls) };
    assert!(
        from.since(index.first) < 200_000 && (2_900_000..5_400_000).contains(&until.since(index.first)),
        "{index:?}"
    );
    let marks: Vec<_> = index.places.iter().filter(|place| place.is_mark).collect();
    assert_eq!((marks.len(), marks[0].what.as_str(), marks[0].at), (1, "mark: deploy", Moment(102_000_000)));
    let what: Vec<_> = index.places.iter().map(|place| place.what.as_str()).collect();
    assert_eq!(what.first(), Some(&"nagle-delayed-ack: :40000 to :4150"));
    assert_eq!(what.last(), Some(&"nagle-delayed-ack over: :40000 to :4150"));

    player.go(Control::Start);
    let last = index.places.last().unwrap().at.0;
    assert_eq!(player.go(Control::To(Aim::FromStart(1_000_000))), BEGIN + 1_000_000);
    assert_eq!(player.go(Control::NextChange), 102_000_000);
    assert_eq!(playback(&player.replay).here.as_deref(), Some("mark: deploy"));
    assert_eq!(player.go(Control::NextChange), last);
    assert_eq!(player.go(Control::NextChange), last);
    assert!(player.replay.said().is_some_and(|said| said.text.contains("no change") && said.text.contains("after")));
    assert_eq!(player.go(Control::PreviousChange), 102_000_000);
    assert_eq!(player.rows()[0].verdict, Verdict::NagleDelayedAck);
}

#[test]
fn a_time_is_found_from_the_start_from_here_in_percent_and_by_the_clock() {
    let mut player = Player::of(&world().recording());
    let span = player.index().last.since(Moment(BEGIN));
    let mut to = |aim| player.go(Control::To(aim)) - BEGIN;
    assert_eq!(to(Aim::FromStart(4_000_000)), 4_000_000);
    assert_eq!(to(Aim::By(-1_500_000)), 2_500_000);
    assert_eq!(to(Aim::By(500_000)), 3_000_000);
    assert_eq!(to(Aim::Percent(50)) / 1_000, span / 2 / 1_000);
    let wall_us = WALL_US + i64::try_from(BEGIN).unwrap();
    assert_eq!(to(Aim::Wall(wall_us + 6_000_000)), 6_000_000);
    assert_eq!([to(Aim::Wall(0)), to(Aim::By(i64::MIN)), to(Aim::FromStart(0))], [0; 3]);
    assert_eq!([to(Aim::By(i64::MAX)), to(Aim::FromStart(u64::MAX)), to(Aim::Wall(i64::MAX))], [span; 3]);
}

#[test]
fn playing_goes_through_to_the_end_stops_there_and_begins_again() {
    let mut player = Player::of(&world().recording());
    for _ in 0..10 {
        player.replay.control(Control::Faster);
    }
    assert_eq!(playback(&player.replay).speed_percent, 1_600);
    player.replay.control(Control::PlayPause);
    let began = Instant::now();
    let mut surveys = 0;
    step_until(&mut player.replay, "the end", &mut |drive, stepped| {
        surveys += u32::from(stepped == Stepped::Surveyed);
        !playback(drive).playing
    });
    let span = player.index().last.since(Moment(BEGIN));
    assert!(surveys >= 8, "{surveys}");
    assert!(began.elapsed() >= Duration::from_micros(span / 16), "{:?}", began.elapsed());
    assert_eq!(playback(&player.replay).position.since(Moment(BEGIN)), span);
    player.replay.control(Control::PlayPause);
    step_until(&mut player.replay, "the start", &mut |_, stepped| stepped == Stepped::Rewound);
    assert!(playback(&player.replay).playing);
    for _ in 0..10 {
        player.replay.control(Control::Slower);
    }
    assert_eq!(playback(&player.replay).speed_percent, 25);
}

#[test]
fn a_recording_cut_anywhere_opens_or_says_why_not() {
    let whole = world().recording();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cut.ssrec");
    let mut opened = 0;
    for length in (0..whole.len()).step_by(whole.len() / 23) {
        std::fs::write(&path, &whole[..length]).unwrap();
        match Replay::open(std::slice::from_ref(&path)) {
            Ok(mut replay) => {
                opened += 1;
                replay.control(Control::End);
                step_until(&mut replay, "arrival", &mut |drive, _| !playback(drive).seeking);
                assert!(!rows(&mut replay).is_empty());
            }
            Err(error) => assert!(error.to_string().contains("cut.ssrec"), "{error}"),
        }
    }
    assert!(opened > 15, "{opened}");
}

#[test]
fn what_cannot_be_replayed_says_what_to_do() {
    let error = |path: &str| Replay::open(&[PathBuf::from(path)]).err().expect("an error");
    assert!(matches!(error("/nonexistent/a.ssrec"), OpenError::Source(_)));
    assert!(error("/").to_string().contains("is a directory"));
    for stream in ["-", "/dev/null"] {
        let error = error(stream);
        assert!(matches!(&error, OpenError::Stream(text) if text.contains("check --from")), "{error}");
    }
}

/// A display in replay mode that shows this.
fn showing(playback: Playback) -> Display {
    let mut display = Display::over(&[Does::Stall], 3_000);
    display.state.mode = Mode::Replay;
    let view = View { playback: Some(Arc::new(playback)), ..display.world.view() };
    display.send(Message::View(Arc::new(view)));
    display
}

fn a_playback() -> Playback {
    let place = |at, is_mark| Place { at: Moment(at), what: "mark: deploy".to_owned(), is_mark };
    Playback {
        name: "ss.txt".to_owned(),
        kind: "text of ss",
        position: Moment(BEGIN + 45_250_000),
        playing: true,
        speed_percent: 400,
        seeking: false,
        here: None,
        index: Arc::new(Index {
            first: Moment(BEGIN),
            last: Moment(BEGIN + 90_000_000),
            complete: true,
            wall: Some((Moment(BEGIN), WALL_US)),
            places: vec![place(BEGIN + 80_000_000, true), place(BEGIN + 60_000_000, false)],
            stalls: vec![(Moment(BEGIN), Moment(BEGIN + 30_000_000))],
            limits: vec!["no socket cookies: a connection looks like the one before".to_owned()],
        }),
    }
}

#[test]
fn the_bar_shows_stalls_marks_and_where_the_replay_stands() {
    let mut display = showing(a_playback());
    let text = display.text();
    contains(&text, &["REPLAY", "▶ 4x 0:45.2/1:30.0", "2023-11-14 22:14:05Z", "1 mark", "text of ss: 1 limit (n)"]);
    contains(&text, &["Space play", "< > changes"]);
    let bar = text.lines().find(|line| line.contains('┃')).unwrap();
    let cells: Vec<char> = bar.chars().collect();
    assert_eq!(cells.len(), 80);
    let at = |wanted: char| cells.iter().position(|cell| *cell == wanted);
    assert_eq!((at('┃'), at('▼')), (Some(40), Some(71)));
    assert_eq!(cells.iter().filter(|cell| **cell == '█').count(), 27);
    assert_eq!((at('█'), cells[27], cells[79]), (Some(0), '─', '─'));
    assert_eq!(display.style_of("█").fg, Some(ratatui::style::Color::Red));
}

#[test]
fn a_low_screen_keeps_the_bar_on_one_line_and_no_size_panics() {
    let mut playback = a_playback();
    playback.playing = false;
    playback.here = Some("mark: \u{1b}[31m".to_owned());
    let mut display = showing(playback).at((60, 12));
    let text = display.text();
    contains(&text, &["paused 4x 0:45.2/1:30.0", "┃", "█"]);
    for size in [(1, 1), (40, 10), (41, 15), (80, 16), (300, 60)] {
        display = display.at(size);
        assert!(!display.text().contains('\u{1b}'));
    }
}

#[test]
fn help_and_notes_tell_what_the_file_cannot() {
    let mut display = showing(a_playback()).at((120, 100));
    display.press(Action::Help);
    let text = display.text();
    contains(&text, &["ss.txt: text of ss", "no socket cookies", "go to a time", "play or pause"]);
    assert!(!text.contains("survey more often") && !text.contains("freeze the display"), "{text}");
    display.press(Action::Notes);
    contains(&display.text(), &["no socket cookies"]);
}

fn controls(display: &Display) -> Vec<Control> {
    let control = |effect: &Effect| if let Effect::Control(control) = effect { Some(*control) } else { None };
    display.effects.iter().filter_map(control).collect()
}

#[test]
fn moves_are_asked_for_and_a_time_that_cannot_be_read_is_told_in_place() {
    let mut display = showing(a_playback());
    display.press(Action::Replay(Control::NextChange));
    display.press(Action::Columns);
    let columns = display.state.columns.len();
    display.press(Action::Replay(Control::PlayPause));
    assert_eq!(display.state.columns.len(), columns - 1);
    display.press(Action::Back);
    display.press(Action::GoTo);
    "soon".chars().for_each(|c| display.send(Message::Prompt(Edit::Insert(c))));
    display.send(Message::Prompt(Edit::Submit));
    contains(&display.text(), &["go to: soon", "expected 90s"]);
    display.send(Message::Prompt(Edit::Clear));
    "1:30".chars().for_each(|c| display.send(Message::Prompt(Edit::Insert(c))));
    display.send(Message::Prompt(Edit::Submit));
    assert!(display.state.prompt.is_none());
    assert_eq!(controls(&display), [Control::NextChange, Control::To(Aim::FromStart(90_000_000))]);
}

#[test]
fn a_recording_is_shown_and_only_what_is_recorded_can_be_marked() {
    let mut display = Display::over(&[Does::Stall], 3_000);
    display.press(Action::Record);
    display.press(Action::Mark);
    assert!(display.state.prompt.is_none());
    contains(&display.text(), &["nothing is recorded"]);
    let said = Said { text: "recording to a.ssrec".to_owned(), failed: false };
    let view = View {
        recording: Some(Recording { written: 20_480 }),
        said: Some(Arc::new((1, said))),
        ..display.world.view()
    };
    let view = Arc::new(view);
    display.send(Message::View(Arc::clone(&view)));
    contains(&display.text(), &["RECORDING 20 KiB", "recording to a.ssrec"]);
    display.press(Action::Mark);
    // The same word is not told twice.
    display.send(Message::View(view));
    assert!(display.state.notice.is_none());
    "now".chars().for_each(|c| display.send(Message::Prompt(Edit::Insert(c))));
    display.send(Message::Prompt(Edit::Submit));
    let takes = display.effects.iter().filter_map(|effect| match effect {
        Effect::Take(take) => Some(take.clone()),
        _ => None,
    });
    assert_eq!(takes.collect::<Vec<_>>(), [Take::Toggle, Take::Mark("now".to_owned())]);
}

/// The one recording in a folder.
fn recording_in(folder: &Path) -> PathBuf {
    let files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    let [file] = &files[..] else { panic!("{files:?}") };
    file.clone()
}

#[test]
fn a_recording_of_real_sockets_replays_to_the_verdicts_of_the_live_run() {
    let stop = Stop::after(PATIENCE);
    let traffic = Traffic::new("write-write-read");
    let running = lab::start(&traffic, Places::loopback(traffic.family), None, &stop).expect("loopback");
    let folder = tempfile::tempdir().unwrap();
    let options = WatchOptions { interval: Duration::from_millis(300), ..WatchOptions::default() };
    let watch = Watch::start(options, &mut |_| {}).expect("the kernel can be looked at");
    let mut live = Live::new(watch, folder.path().to_owned());
    live.take(&Take::Toggle, &Filter::default());
    let ours = running.ends()[0].client.port();
    let stalled = |rows: &[Row]| rows.iter().any(|row| row.sender.port == ours && row.level == Some(Level::Proven));
    step_until(&mut live, "a proven stall", &mut |drive, stepped| {
        stepped == Stepped::Surveyed && stalled(&rows(drive))
    });
    live.take(&Take::Mark("seen".to_owned()), &Filter::default());
    step_until(&mut live, "one more survey", &mut |_, stepped| stepped == Stepped::Surveyed);
    let wanted = rows(&mut live);
    assert!(live.recording().is_some_and(|recording| recording.written > 0));
    live.take(&Take::Toggle, &Filter::default());
    assert!(live.said().is_some_and(|said| !said.failed && said.text.starts_with("recorded ")));
    stop.set();
    drop(running);

    let path = recording_in(folder.path());
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let mut player = Player::of(&std::fs::read(&path).unwrap());
    player.go(Control::End);
    let replayed = player.rows();
    assert!(stalled(&replayed));
    assert_eq!(replayed, wanted);
    assert!(player.index().places.iter().any(|place| place.what == "mark: seen"));
    assert!(!player.index().stalls.is_empty());
}

#[test]
fn a_snapshot_ends_by_itself_and_a_folder_that_refuses_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let watch = || Watch::start(WatchOptions::default(), &mut |_| {}).expect("the kernel can be looked at");
    let mut live = Live::new(watch(), folder.path().to_owned());
    live.take(&Take::Snapshot, &Filter::default());
    live.take(&Take::Snapshot, &Filter::default());
    assert!(live.said().is_some_and(|said| said.failed));
    step_until(&mut live, "the end of the snapshot", &mut |drive, _| drive.recording().is_none());
    let player = Player::of(&std::fs::read(recording_in(folder.path())).unwrap());
    assert!(player.index().last.since(player.index().first) >= 1_000_000);
    let mut live = Live::new(watch(), folder.path().join("missing"));
    live.take(&Take::Toggle, &Filter::default());
    assert!(live.recording().is_none());
    assert!(live.said().is_some_and(|said| said.failed && said.text.contains("missing")));
}

/// Ten minutes of many sockets: what going back takes. `STALLSCOPE_REPLAY_SOCKETS` sets how many there are.
#[test]
#[ignore = "a measurement: cargo test --release --lib going_back_costs -- --ignored --nocapture"]
fn going_back_costs() {
    let sockets = std::env::var("STALLSCOPE_REPLAY_SOCKETS").ok().and_then(|text| text.parse().ok()).unwrap_or(2_000);
    let mut does = vec![Does::Nothing; sockets / 2];
    does[0] = Does::StallUntil(130_000);
    let mut world = World::new(&does);
    world.pass(600_000);
    let mut player = Player::of(&world.recording());
    drop(world);
    let mut times = Vec::new();
    let mut timed = |control| {
        let began = Instant::now();
        player.go(control);
        began.elapsed()
    };
    let end = timed(Control::End);
    for _ in 0..40 {
        times.push(timed(Control::StepBack));
    }
    let middle = timed(Control::To(Aim::Percent(50)));
    let again: Vec<_> = (0..20).map(|_| timed(Control::StepBack)).collect();
    let first = times[0];
    times.sort_unstable();
    println!("end {end:?}; back from it: first {first:?}, median {:?}, longest {:?}", times[20], times[39]);
    println!("middle {middle:?}; back from it: first {:?}, longest {:?}", again[0], again.iter().max());
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    println!("{}", status.lines().find(|line| line.starts_with("VmHWM")).unwrap());
}

#[test]
fn going_back_over_a_long_file_shows_what_was_there() {
    let mut world = World::new(&[Does::StallUntil(120_000), Does::Nothing]);
    world.pass(15_000);
    world.name("ruby");
    world.pass(45_000);
    let mut player = Player::of(&world.recording());
    let at = |second: u64| Control::To(Aim::FromStart(second * 1_000_000));
    let forth: Vec<_> = (0..60).step_by(7).map(|second| (second, player.go(at(second)), player.rows())).collect();
    player.go(Control::End);
    player.replay.named();
    for (second, position, rows) in forth.iter().rev() {
        assert_eq!(player.go(at(*second)), *position);
        assert_eq!(player.rows(), *rows, "second {second}");
        // Whoever goes back names the holders anew.
        assert_eq!(player.replay.named().is_empty(), *second < 15, "second {second}");
    }
}
