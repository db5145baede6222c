"""What must survive a restart. One protocol, one implementation per database, one suite of tests over all of them."""
