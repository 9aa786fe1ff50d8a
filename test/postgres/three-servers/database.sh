servers=192.0.2.0/24
apt-get install --yes postgresql
as_postgres() { runuser -u postgres -- "$@"; }
sql() { as_postgres psql --no-psqlrc --quiet --tuples-only --no-align --set ON_ERROR_STOP=1 "$@"; }
data="$(sql --command 'show data_directory')"
as_postgres openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 3650 \
  -subj /CN=db.example.com -addext subjectAltName=DNS:db.example.com -keyout "$data/sluice.key" -out "$data/sluice.pem"
install -m 644 "$data/sluice.pem" /root/sluice-db.pem
(umask 077 && openssl rand -hex 24 > /root/sluice-password)
sql << END
create role sluice login password '$(cat /root/sluice-password)';
create database sluice owner sluice encoding 'UTF8' template template0;
alter system set listen_addresses = '*';
alter system set ssl = on;
alter system set ssl_cert_file = 'sluice.pem';
alter system set ssl_key_file = 'sluice.key';
END
echo "hostssl sluice sluice $servers scram-sha-256" >> "$(sql --command 'show hba_file')"
systemctl restart postgresql
