use crate::support::*;
use kudu_rs::{Client, ClientBuilder, EncryptionPolicy, Kerberos};
use std::time::Duration;

async fn use_it(builder: ClientBuilder) -> kudu_rs::Result<usize> {
    let client = builder.operation_timeout(Duration::from_secs(20)).build().await?;
    let table = client.create_table(unique("secure"), &schema()).hash_partitions(["k"], 2).replicas(1).create().await?;
    fill(&table, (0..100).map(|k| (k, 1))).await;
    let rows = table.scan().build()?.collect().await?;
    client.delete_table(table.name()).await?;
    Ok(count(&rows))
}

#[tokio::test]
async fn a_cluster_that_wants_encryption_on_loopback_too_is_used_through_tls() {
    let cluster =
        Cluster::start(&[("KUDU_FLAGS", "--rpc_encryption=required --rpc_encrypt_loopback_connections=true")]);
    assert_eq!(use_it(Client::builder().masters([cluster.master()])).await.expect("works"), 100);
    let required = Client::builder().masters([cluster.master()]).encryption(EncryptionPolicy::Required);
    assert_eq!(use_it(required).await.expect("works"), 100);
}

#[tokio::test]
async fn required_encryption_is_not_given_up_when_the_server_has_none() {
    let cluster = Cluster::start(&[("KUDU_FLAGS", "--rpc_encryption=disabled --rpc_authentication=disabled")]);
    assert_eq!(use_it(Client::builder().masters([cluster.master()])).await.expect("works"), 100);
    let required = Client::builder().masters([cluster.master()]).encryption(EncryptionPolicy::Required).build().await;
    let message = required.expect_err("no TLS").to_string();
    assert!(message.contains("encryption is required, and the server does not offer TLS"), "{message}");
    let trusting = Client::builder().masters([cluster.master()]).require_authentication(true).build().await;
    let e = trusting.expect_err("nobody is checked");
    assert!(e.is_authorization() && e.to_string().contains("authentication is required"), "{e}");
}

#[tokio::test]
async fn the_shared_cluster_is_used_encrypted_when_that_is_required() {
    let required = Client::builder().masters([service("WASMILL_KUDU")]).encryption(EncryptionPolicy::Required);
    assert_eq!(use_it(required).await.expect("works"), 100);
}

fn kerberos(user: &str) -> Kerberos {
    let kdc = service("WASMILL_KDC");
    let keytab = user.split('/').next().unwrap_or(user);
    Kerberos::new(format!("{user}@WASMILL.TEST"), format!("{kdc}/{keytab}.keytab"))
        .krb5_conf(format!("{kdc}/krb5.conf"))
}

#[tokio::test]
async fn a_keytab_opens_a_cluster_that_requires_kerberos() {
    let kdc = service("WASMILL_KDC");
    for flags in ["", "--rpc_encrypt_loopback_connections=true --rpc_encryption=required"] {
        let cluster = Cluster::start(&[("KUDU_KDC", &kdc), ("KUDU_FLAGS", flags)]);
        let masters = || Client::builder().masters([cluster.master()]).operation_timeout(Duration::from_secs(5));
        assert_eq!(
            use_it(masters().kerberos(kerberos("alice")).require_authentication(true)).await.expect("alice may"),
            100
        );

        // A principal of two parts, as services have it.
        assert_eq!(use_it(masters().kerberos(kerberos("etl/worker1"))).await.expect("etl may"), 100);

        let message = masters().user("alice").build().await.expect_err("a name is not enough").to_string();
        assert!(message.contains("the server requires authentication: a Kerberos principal"), "{message}");

        let e = masters().kerberos(kerberos("mallory")).build().await.expect_err("not in the ACL");
        assert!(e.is_authorization() && e.to_string().contains("unauthorized access"), "{e}");

        // Of a principal's name and another's key.
        let mut stolen = kerberos("alice");
        stolen.keytab = kerberos("mallory").keytab;
        let e = masters().kerberos(stolen).build().await.expect_err("another's key");
        assert!(
            e.is_authorization() && e.to_string().contains("no Kerberos ticket for kudu/127.0.0.1 as alice"),
            "{e}"
        );

        let e = masters().kerberos(kerberos("alice").service("nosuch")).build().await.expect_err("no such service");
        assert!(e.to_string().contains("the KDC does not know the service"), "{e}");

        let mut none = kerberos("alice");
        none.keytab = "/nonexistent.keytab".into();
        let e = masters().kerberos(none).build().await.expect_err("no keytab");
        assert!(e.to_string().contains("/nonexistent.keytab"), "{e}");
    }
}

#[tokio::test]
async fn an_expired_token_is_renewed_with_the_keytab() {
    let kdc = service("WASMILL_KDC");
    // Connections are closed when idle, so that new ones are made with tokens that have expired.
    let cluster = Cluster::start(&[
        ("KUDU_KDC", &kdc),
        ("KUDU_FLAGS", "--rpc_default_keepalive_time_ms=500"),
        ("KUDU_MASTER_FLAGS", "--authn_token_validity_seconds=2"),
    ]);
    let client =
        Client::builder().masters([cluster.master()]).kerberos(kerberos("alice")).build().await.expect("alice may");
    let table = table(&client, "expiry", 1).await;
    for k in 0..4 {
        fill(&table, [(k, 1)]).await;
        tokio::time::sleep(Duration::from_millis(2600)).await;
    }
    assert_eq!(count(&table.scan().build().expect("valid").collect().await.expect("rows")), 4);
    assert!(client.table_exists(table.name()).await.expect("the master too"));
}

#[tokio::test]
async fn a_cluster_that_checks_rights_on_tables_gets_new_tokens_for_them() {
    let flags = "--tserver_enforce_access_control=true";
    let cluster =
        Cluster::start(&[("KUDU_TSERVER_FLAGS", flags), ("KUDU_MASTER_FLAGS", "--authz_token_validity_seconds=1")]);
    let client = Client::builder().masters([cluster.master()]).build().await.expect("up");
    let table = table(&client, "authz", 1).await;
    for k in 0..3 {
        fill(&table, [(k, 1)]).await;
        tokio::time::sleep(Duration::from_millis(1600)).await;
    }
    assert_eq!(count(&table.scan().build().expect("valid").collect().await.expect("rows")), 3);
}

#[tokio::test]
async fn clusters_of_two_realms_are_used_by_one_process() {
    let kdc = service("WASMILL_KDC");
    let other = Kdc::start("OTHER.TEST");
    let first = Cluster::start(&[("KUDU_KDC", &kdc)]);
    let second = Cluster::start(&[("KUDU_KDC", &other.dir())]);
    let of_other = Kerberos::new("alice@OTHER.TEST", format!("{}/alice.keytab", other.dir()))
        .krb5_conf(other.dir() + "/krb5.conf");
    let (one, two) = tokio::join!(
        use_it(Client::builder().masters([first.master()]).kerberos(kerberos("alice"))),
        use_it(Client::builder().masters([second.master()]).kerberos(of_other.clone())),
    );
    assert_eq!((one.expect("hers"), two.expect("hers too")), (100, 100));
    // The realms do not trust each other.
    let astray =
        Client::builder().masters([first.master()]).kerberos(of_other).operation_timeout(Duration::from_secs(5));
    let e = astray.build().await.expect_err("a stranger's ticket");
    assert!(e.is_authorization(), "{e}");
}
