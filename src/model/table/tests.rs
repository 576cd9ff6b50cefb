use crate::wire::{Family, SkMem, TcpInfo, Timer, field};

use super::*;

fn socket(cookie: u64, local: &str, remote: &str) -> Socket {
    let end = |text: &str| {
        let address: std::net::SocketAddr = text.parse().unwrap();
        Endpoint { ip: address.ip(), port: address.port() }
    };
    Socket {
        host: crate::wire::HostId::default(),
        cookie: Cookie(cookie),
        family: Family::V4,
        state: TcpState::ESTABLISHED,
        timer: Timer::NONE,
        retrans: 0,
        expires_ms: 0,
        local: end(local),
        remote: end(remote),
        mapped: false,
        interface: 0,
        rqueue: 0,
        wqueue: 0,
        uid: 0,
        inode: 0,
        info: Some(TcpInfo::from_bytes(&[0; 232])),
        congestion: crate::wire::Congestion::default(),
        skmem: Some(SkMem::default()),
        shutdown: None,
    }
}

fn with(mut socket: Socket, name: &str, value: u64) -> Socket {
    let mut info = socket.info.unwrap();
    info.set(field(name).unwrap(), value);
    socket.info = Some(info);
    socket
}

const CLIENT: (&str, &str) = ("127.0.0.1:40000", "127.0.0.1:80");

fn client(cookie: u64) -> Socket {
    socket(cookie, CLIENT.0, CLIENT.1)
}

fn server(cookie: u64) -> Socket {
    socket(cookie, CLIENT.1, CLIENT.0)
}

fn survey(table: &mut Table, at: u64, sockets: &[Socket]) {
    table.begin_survey(HostId::default(), Moment(at));
    for socket in sockets {
        table.survey_socket(socket);
    }
    table.end_survey(true);
}

fn only(table: &Table) -> Connection {
    let mut all = table.connections();
    let connection = *all.next().unwrap();
    assert!(all.next().is_none(), "more than one connection");
    connection
}

#[test]
fn the_two_ends_of_a_connection_become_one() {
    let mut table = Table::default();
    survey(&mut table, 0, &[client(1), server(2)]);
    assert!(only(&table).is_paired());
    assert_eq!(table.socket_count(), 2);
}

#[test]
fn one_visible_end_is_a_connection_too() {
    let mut table = Table::default();
    survey(&mut table, 0, &[client(1)]);
    assert!(!only(&table).is_paired());
}

#[test]
fn a_socket_connected_to_itself_has_one_end() {
    let mut table = Table::default();
    survey(&mut table, 0, &[socket(1, "127.0.0.1:5", "127.0.0.1:5")]);
    assert!(!only(&table).is_paired());
}

#[test]
fn a_socket_listed_twice_counts_once() {
    let mut table = Table::default();
    survey(&mut table, 0, &[client(1), server(2), client(1)]);
    survey(&mut table, 1_000_000, &[client(1), with(client(1), "data_segs_out", 9), server(2)]);
    assert_eq!(table.connection_count(), 1);
    assert_eq!(table.socket(HostId::default(), Cookie(1)).unwrap().growth.unwrap().data_segs_out, 0);
}

#[test]
fn one_missing_reading_does_not_end_a_connection_but_two_do() {
    let mut table = Table::default();
    survey(&mut table, 0, &[client(1), server(2)]);
    let id = only(&table).id;
    survey(&mut table, 1, &[client(1)]);
    assert!(only(&table).is_paired());
    survey(&mut table, 2, &[client(1)]);
    assert!(!only(&table).is_paired());
    survey(&mut table, 3, &[]);
    survey(&mut table, 4, &[]);
    assert_eq!((table.connection_count(), table.socket_count()), (0, 0));
    assert!(table.connection(id).is_none());
}

#[test]
fn an_incomplete_survey_ends_nothing() {
    let mut table = Table::default();
    survey(&mut table, 0, &[client(1)]);
    for at in 1..5 {
        table.begin_survey(HostId::default(), Moment(at));
        table.end_survey(false);
    }
    assert_eq!(table.socket_count(), 1);
}

#[test]
fn an_address_pair_used_again_is_another_connection() {
    let mut table = Table::default();
    survey(&mut table, 0, &[client(1), server(2)]);
    let old = only(&table).id;
    survey(&mut table, 1, &[client(3), server(4)]);
    survey(&mut table, 2, &[client(3), server(4)]);
    let new = only(&table);
    assert_ne!(new.id, old);
    assert!(new.is_paired());
    assert_eq!(table.end(&new, Side::A).unwrap().socket.cookie, Cookie(3));
}

#[test]
fn the_end_whose_syn_was_counted_opened() {
    let mut table = Table::default();
    survey(&mut table, 0, &[server(2), with(client(1), "bytes_acked", 1)]);
    assert_eq!(only(&table).opener, Opener::ByteCounts(Side::B));
}

#[test]
fn the_listening_port_tells_who_opened_where_counts_cannot() {
    let mut table = Table::default();
    let busy = |socket| with(socket, "unacked", 1);
    let mut listener = socket(9, "0.0.0.0:80", "0.0.0.0:0");
    listener.state = TcpState::LISTEN;
    survey(&mut table, 0, &[busy(server(2)), listener, busy(client(1))]);
    assert_eq!(only(&table).opener, Opener::ListeningPort(Side::B));
    assert_eq!(table.socket_count(), 2);
}

#[test]
fn growth_is_absent_at_first_and_after_a_reset() {
    let mut table = Table::default();
    survey(&mut table, 0, &[with(client(1), "busy_time", 9_000)]);
    assert_eq!(table.socket(HostId::default(), Cookie(1)).unwrap().growth, None);
    survey(&mut table, 1_000_000, &[with(client(1), "busy_time", 53_000)]);
    assert_eq!(table.socket(HostId::default(), Cookie(1)).unwrap().growth.unwrap().busy_us, Some(44_000));
    survey(&mut table, 2_000_000, &[with(client(1), "busy_time", 0)]);
    let entry = table.socket(HostId::default(), Cookie(1)).unwrap();
    assert_eq!(entry.growth, None);
    assert_eq!(entry.busy_us, 44_000);
}

fn on(host: u16, socket: &Socket) -> Socket {
    Socket { host: HostId(host), ..*socket }
}

fn survey_of(table: &mut Table, host: u16, at: u64, sockets: &[Socket]) {
    table.begin_survey(HostId(host), Moment(at));
    for socket in sockets {
        table.survey_socket(&on(host, socket));
    }
    table.end_survey(true);
}

const AFAR: (&str, &str) = ("10.0.0.1:40000", "10.0.0.2:80");

#[test]
fn ends_on_two_hosts_are_one_connection_whatever_their_cookies() {
    let mut table = Table::default();
    survey_of(&mut table, 0, 0, &[socket(1, AFAR.0, AFAR.1)]);
    survey_of(&mut table, 1, 500, &[socket(1, AFAR.1, AFAR.0)]);
    let connection = only(&table);
    assert!(connection.is_paired() && table.is_across(&connection));
    assert_eq!((table.socket_count(), table.connection_count()), (2, 1));
    // Each host's own surveys tell when its sockets are gone.
    for at in 1..4 {
        survey_of(&mut table, 1, at * 1_000, &[]);
    }
    assert!(!only(&table).is_paired());
    assert_eq!(table.socket_count(), 1);
}

#[test]
fn loopback_and_equal_addresses_that_are_not_mirrored_stay_apart() {
    let mut table = Table::default();
    survey_of(&mut table, 0, 0, &[client(1), socket(2, AFAR.0, AFAR.1)]);
    survey_of(&mut table, 1, 500, &[server(1), socket(3, AFAR.0, AFAR.1)]);
    assert_eq!(table.connection_count(), 4);
    assert!(table.connections().all(|connection| !connection.is_paired()));
}

#[test]
fn a_peer_on_the_same_host_goes_before_one_on_another() {
    let mut table = Table::default();
    survey_of(&mut table, 0, 0, &[socket(1, AFAR.0, AFAR.1)]);
    survey_of(&mut table, 1, 500, &[socket(2, AFAR.1, AFAR.0), socket(3, AFAR.0, AFAR.1)]);
    let across: Vec<_> = table.connections().map(|connection| table.is_across(connection)).collect();
    assert_eq!(across, [false, false]);
}

#[test]
fn of_several_peers_on_other_hosts_none_is_taken() {
    let mut table = Table::default();
    survey_of(&mut table, 0, 0, &[socket(1, AFAR.0, AFAR.1)]);
    survey_of(&mut table, 1, 100, &[socket(2, AFAR.0, AFAR.1)]);
    survey_of(&mut table, 2, 200, &[socket(3, AFAR.1, AFAR.0)]);
    assert_eq!((table.connection_count(), table.ambiguous()), (3, 1));
}

#[test]
fn a_host_whose_file_has_ended_has_no_peers() {
    let mut table = Table::default();
    survey_of(&mut table, 0, 0, &[socket(1, AFAR.0, AFAR.1)]);
    survey_of(&mut table, 1, 60_000_000, &[socket(1, AFAR.1, AFAR.0)]);
    assert_eq!(table.connection_count(), 2);
}

#[test]
fn a_socket_that_two_files_show_is_one_and_one_without_inode_may_be_another() {
    let shown = Socket { inode: 77, ..socket(1, AFAR.0, AFAR.1) };
    let mut table = Table::default();
    survey_of(&mut table, 0, 0, &[shown]);
    survey_of(&mut table, 1, 500, &[shown]);
    assert_eq!((table.socket_count(), table.doubled()), (1, 1));
    // The first file ends: the second takes its place.
    survey_of(&mut table, 1, 60_000_000, &[shown]);
    assert_eq!(table.entries().map(|entry| entry.socket.host).collect::<Vec<_>>(), [HostId(1)]);
    let mut apart = Table::default();
    survey_of(&mut apart, 0, 0, &[socket(1, AFAR.0, AFAR.1)]);
    survey_of(&mut apart, 1, 500, &[socket(1, AFAR.0, AFAR.1)]);
    assert_eq!((apart.socket_count(), apart.doubled()), (2, 0));
}
