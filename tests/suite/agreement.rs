//! The decoder against two others that read the same bytes: netlink-packet-sock-diag's own types, and `ss`.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::process::Command;
use std::time::Duration;

use netlink_packet_core::{NetlinkMessage, NetlinkPayload};
use netlink_packet_sock_diag::SockDiagMessage;
use netlink_packet_sock_diag::inet::nlas::{Nla, TcpInfo};
use netlink_packet_sock_diag::inet::{InetResponse, Timer};
use stallscope::wire::{Socket, TcpState};

use super::captures::{first_dump, with_text};
use super::netns::{run, skipped};

/// Bytes of the longest `tcp_info` that the crate's own type holds; it refuses shorter ones.
const CRATE_INFO: usize = 232;

/// The message as the crate reads it, `tcp_info` left out where it cannot be read.
fn by_the_crate(raw: &[u8]) -> Option<InetResponse> {
    match NetlinkMessage::<SockDiagMessage>::deserialize(raw).ok()?.payload {
        NetlinkPayload::InnerMessage(SockDiagMessage::InetResponse(response)) => Some(*response),
        _ => None,
    }
}

fn assert_same_header(ours: &Socket, theirs: &InetResponse) {
    let header = &theirs.header;
    let id = &header.socket_id;
    let unmapped = |ip: IpAddr| ip.to_canonical();
    assert_eq!((ours.local.ip, ours.local.port), (unmapped(id.source_address), id.source_port));
    assert_eq!((ours.remote.ip, ours.remote.port), (unmapped(id.destination_address), id.destination_port));
    assert_eq!((ours.interface, ours.cookie.0), (id.interface_id, u64::from_ne_bytes(id.cookie)));
    assert_eq!(ours.state.0, header.state);
    assert_eq!((ours.rqueue, ours.wqueue), (header.recv_queue, header.send_queue));
    assert_eq!((ours.uid, ours.inode), (header.uid, header.inode));
    let expires = Duration::from_millis(ours.expires_ms.into());
    let timer = match ours.timer.0 {
        1 => Some(Timer::Retransmit(expires, ours.retrans)),
        2 => Some(Timer::KeepAlive(expires)),
        3 => Some(Timer::TimeWait),
        4 => Some(Timer::Probe(expires)),
        // The crate knows no timer 5.
        _ => None,
    };
    assert_eq!(header.timer, timer);
}

fn assert_same_info(ours: &Socket, theirs: &TcpInfo) {
    let info = ours.info.expect("the crate read a tcp_info");
    macro_rules! same {
        ($($name:ident)*) => {$( assert_eq!(info.$name(), Some(theirs.$name), stringify!($name)); )*};
    }
    same! {
        state ca_state retransmits probes backoff options rto ato snd_mss rcv_mss unacked sacked lost retrans fackets
        last_data_sent last_ack_sent last_data_recv last_ack_recv pmtu rcv_ssthresh rtt rttvar snd_ssthresh snd_cwnd
        advmss reordering rcv_rtt rcv_space total_retrans pacing_rate max_pacing_rate bytes_acked bytes_received segs_out
        segs_in notsent_bytes min_rtt data_segs_in data_segs_out delivery_rate busy_time rwnd_limited sndbuf_limited
        delivered delivered_ce bytes_sent bytes_retrans dsack_dups reord_seen rcv_ooopack snd_wnd
    }
    assert_eq!(info.snd_wscale().zip(info.rcv_wscale()).map(|(snd, rcv)| snd | rcv << 4), Some(theirs.wscale));
    assert_eq!(info.delivery_rate_app_limited(), Some(theirs.delivery_rate_app_limited & 1));
}

#[test]
fn the_crate_and_this_decoder_read_the_same_in_every_field() {
    let mut compared = 0;
    for (dump, _) in with_text("agreement::the_crate_and_this_decoder_read_the_same_in_every_field") {
        let bytes = std::fs::read(&dump).expect("a dump");
        for (ours, raw) in first_dump(&bytes) {
            let Some(theirs) = by_the_crate(raw) else {
                let len = ours.info.map_or(0, |info| info.len());
                assert!(len < CRATE_INFO, "{}: the crate does not read {len} bytes of tcp_info", dump.display());
                continue;
            };
            assert_same_header(&ours, &theirs);
            for attribute in &theirs.nlas {
                match attribute {
                    Nla::TcpInfo(info) => {
                        compared += 1;
                        assert_same_info(&ours, info);
                    }
                    Nla::Congestion(name) => assert_eq!(ours.congestion.as_str(), name.trim_end_matches('\0')),
                    Nla::Shutdown(bits) => assert_eq!(ours.shutdown, Some(*bits)),
                    _ => {}
                }
            }
        }
    }
    assert!(compared >= 8, "only {compared} sockets compared");
}

/// C's `%g`: six significant digits, no zeros at the end.
fn g(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let scientific = format!("{value:.5e}");
    let (digits, exponent) = scientific.split_once('e').expect("an exponent");
    let exponent: i32 = exponent.parse().expect("a number");
    if (-4..6).contains(&exponent) {
        let decimals = usize::try_from(5 - exponent).expect("not negative");
        let text = format!("{value:.decimals$}");
        return if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text };
    }
    let digits = digits.trim_end_matches('0').trim_end_matches('.');
    format!("{digits}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
}

/// The words after which `ss` prints a number, for each field; those that it leaves out at zero, and its other rules.
fn words(socket: &Socket) -> BTreeMap<&'static str, Option<String>> {
    let mut words = BTreeMap::new();
    let Some(info) = socket.info else { return words };
    let mut plain = |key: &'static str, value: Option<u64>| {
        words.insert(key, value.filter(|value| *value != 0).map(|value| value.to_string()));
    };
    macro_rules! plain {
        ($($key:literal $name:ident)*) => {$( plain($key, info.$name().map(u64::from)); )*};
    }
    plain! {
        "mss" snd_mss "pmtu" pmtu "rcvmss" rcv_mss "advmss" advmss "cwnd" snd_cwnd "bytes_sent" bytes_sent
        "bytes_retrans" bytes_retrans "bytes_acked" bytes_acked "bytes_received" bytes_received "segs_out" segs_out
        "segs_in" segs_in "data_segs_out" data_segs_out "data_segs_in" data_segs_in "lastsnd" last_data_sent
        "lastrcv" last_data_recv "lastack" last_ack_recv "delivered" delivered "delivered_ce" delivered_ce
        "unacked" unacked "lost" lost "sacked" sacked "dsack_dups" dsack_dups "reord_seen" reord_seen
        "rcv_space" rcv_space "rcv_ssthresh" rcv_ssthresh "notsent" notsent_bytes "rcv_ooopack" rcv_ooopack
        "snd_wnd" snd_wnd "backoff" backoff
    }
    words.insert("ssthresh", info.snd_ssthresh().filter(|n| *n < 0xffff).map(|n| n.to_string()));
    words.insert("reordering", info.reordering().filter(|n| *n != 3).map(|n| n.to_string()));
    let ms = |us: Option<u32>| us.filter(|us| *us != 0).map(|us| g(f64::from(us) / 1e3));
    words.insert("rto", info.rto().filter(|us| *us != 3_000_000).map(|us| g(f64::from(us) / 1e3)));
    words.insert("ato", ms(info.ato()));
    words.insert("rcv_rtt", ms(info.rcv_rtt()));
    words.insert("minrtt", ms(info.min_rtt().filter(|us| *us != u32::MAX)));
    let (rtt, var) = (info.rtt().unwrap_or(0), info.rttvar().unwrap_or(0));
    words.insert("rtt", (rtt > 0).then(|| format!("{}/{}", g(f64::from(rtt) / 1e3), g(f64::from(var) / 1e3))));
    let (retrans, total) = (info.retrans().unwrap_or(0), info.total_retrans().unwrap_or(0));
    words.insert("retrans", (retrans > 0 || total > 0).then(|| format!("{retrans}/{total}")));
    let busy = info.busy_time().filter(|us| *us > 0).map(|us| format!("{}ms", us / 1000));
    words.insert("busy", busy);
    words
}

/// One row as `ss -O` prints it: the leading columns, and the words with a colon by what stands before it.
struct Row<'a> {
    columns: Vec<&'a str>,
    words: HashMap<&'a str, &'a str>,
    text: &'a str,
}

impl<'a> Row<'a> {
    fn of(text: &'a str) -> Self {
        let columns = text.split_whitespace().take(5).collect();
        let words = text.split_whitespace().skip(5).filter_map(|word| word.split_once(':')).collect();
        Self { columns, words, text }
    }
}

/// How `ss` prints the timer's time: the longer, the less of it.
fn timer_time(ms: u32) -> Option<String> {
    let (minutes, seconds, rest) = (ms / 60_000, ms / 1_000 % 60, ms % 1_000);
    match (minutes, seconds, rest) {
        (0, 0, 0) => Some(String::new()),
        (0, 0, rest) => Some(format!("{rest:03}ms")),
        (0, 10.., _) | (0, _, 0) => Some(format!("{seconds}sec")),
        // Versions differ in seconds with milliseconds, and in minutes.
        _ => None,
    }
}

fn assert_row(socket: &Socket, row: &str, what: &str) {
    let row = Row::of(row);
    let what = format!("{what}: {}", row.text);
    assert_eq!(row.columns[0], socket.state.name(), "{what}");
    assert_eq!(row.columns[1..3], [socket.rqueue.to_string(), socket.wqueue.to_string()], "{what}");
    for (column, end) in [(3, socket.local), (4, socket.remote)] {
        let (ip, port) = row.columns[column].rsplit_once(':').expect("a port");
        let ip: IpAddr = ip.trim_matches(['[', ']']).parse().unwrap_or_else(|_| panic!("{what}: {ip}"));
        let port = if port == "*" { "0" } else { port };
        assert_eq!((ip.to_canonical(), port), (end.ip, end.port.to_string().as_str()), "{what}");
    }
    assert_eq!(row.words.get("ino").map_or(0, |inode| inode.parse().expect("a number")), socket.inode, "{what}");
    assert_eq!(row.words.get("uid").map_or(0, |uid| uid.parse().expect("a number")), socket.uid, "{what}");
    assert_eq!(row.words["sk"], format!("{:x}", socket.cookie.0), "{what}");
    if let Some(time) = timer_time(socket.expires_ms).filter(|_| (1..=4).contains(&socket.timer.0)) {
        assert_eq!(row.words["timer"], format!("({},{time},{})", socket.timer.name(), socket.retrans), "{what}");
    }
    assert_eq!(row.words.contains_key("timer"), socket.timer.0 != 0, "{what}");
    // Of a listening socket ss prints the window only: the rest are figures of its backlog.
    let open = socket.state != TcpState::LISTEN;
    for (key, value) in words(socket).into_iter().filter(|_| open) {
        assert_eq!(row.words.get(key).copied(), value.as_deref(), "{key} in {what}");
    }
    if let Some(mem) = socket.skmem {
        let words = ["r", "rb", "t", "tb", "f", "w", "o", "bl", "d"].iter().zip(mem.0);
        let words: Vec<_> = words.filter_map(|(name, value)| Some(format!("{name}{}", value?))).collect();
        assert_eq!(row.words["skmem"], format!("({})", words.join(",")), "{what}");
    }
    let congestion = socket.congestion.as_str();
    assert!(row.text.split_whitespace().any(|word| word == congestion), "{congestion} in {what}");
}

/// `ss` prints rows in an order of its own; the cookie tells which socket a row is.
fn assert_text(sockets: &[(Socket, &[u8])], text: &str, what: &str) -> usize {
    let by_cookie: HashMap<_, _> =
        sockets.iter().map(|(socket, _)| (format!("{:x}", socket.cookie.0), socket)).collect();
    let rows = text.lines().filter(|line| line.contains(" sk:"));
    let mut compared = 0;
    for row in rows {
        let cookie = Row::of(row).words["sk"];
        let socket = by_cookie.get(cookie).unwrap_or_else(|| panic!("{what}: no socket {cookie}"));
        assert_row(socket, row, what);
        compared += 1;
    }
    let open = |state: TcpState| !matches!(state, TcpState::LISTEN | TcpState::TIME_WAIT);
    let shown = by_cookie.values().filter(|socket| open(socket.state)).count();
    assert!(compared >= shown, "{what}: {compared} rows, {shown} sockets");
    compared
}

#[test]
fn ss_prints_what_this_decoder_reads_from_the_same_bytes() {
    for (dump, text) in with_text("agreement::ss_prints_what_this_decoder_reads_from_the_same_bytes") {
        let bytes = std::fs::read(&dump).expect("a dump");
        let text = std::fs::read_to_string(&text).expect("its text");
        let compared = assert_text(&first_dump(&bytes), &text, &dump.display().to_string());
        assert!(compared >= 2, "{}: {compared} rows", dump.display());
    }
}

#[test]
fn ss_prints_what_this_decoder_reads_from_a_dump_of_this_host() {
    const TEST: &str = "agreement::ss_prints_what_this_decoder_reads_from_a_dump_of_this_host";
    let limit = Duration::from_secs(10);
    if let Err(error) = run(Command::new("ss").arg("-V"), limit) {
        return skipped(TEST, &format!("`ss` of iproute2 cannot be run: {error}"));
    }
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let client = TcpStream::connect(listener.local_addr().expect("bound")).expect("a connection");
    let (server, _) = listener.accept().expect("the other end");
    std::io::Write::write_all(&mut &client, b"unread").expect("written");
    let path = std::env::temp_dir().join(format!("stallscope-agreement-{}.nl", std::process::id()));
    let port = client.local_addr().expect("connected").port();
    let ours = format!("sport = :{port} or dport = :{port}");
    run(Command::new("ss").args(["-tinmoe", "-D"]).arg(&path).arg(&ours), limit).expect("a dump");
    let bytes = std::fs::read(&path).expect("the dump");
    let printed = run(Command::new("ss").arg("-tinmoeOH").env("TCPDIAG_FILE", &path), limit).expect("its text");
    std::fs::remove_file(&path).expect("it is there");
    let text = String::from_utf8_lossy(&printed.stdout);
    let sockets = first_dump(&bytes);
    assert!(sockets.iter().any(|(socket, _)| socket.rqueue == 6), "the unread bytes are not seen: {sockets:?}");
    // Without a header and with one state asked for, the rows have no state.
    let stated: Vec<_> = text
        .lines()
        .map(|line| if line.starts_with("ESTAB") { line.to_owned() } else { format!("ESTAB {line}") })
        .collect();
    assert_eq!(assert_text(&sockets, &stated.join("\n"), "this host"), 2);
    drop(server);
}

#[test]
fn figures_are_printed_as_c_prints_them() {
    let cases =
        [(0.0, "0"), (0.02, "0.02"), (22.036, "22.036"), (226.666, "226.666"), (1234.5678, "1234.57"), (200.0, "200")];
    for (value, text) in cases {
        assert_eq!(g(value), text);
    }
    assert_eq!((g(1_234_567.0), g(0.000_012)), ("1.23457e+06".to_owned(), "1.2e-05".to_owned()));
}
