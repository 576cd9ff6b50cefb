scenarios! {
}
