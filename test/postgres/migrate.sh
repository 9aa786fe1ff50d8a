systemctl stop sluice-server
sluice store migrate --to postgres://sluice@db.example.com/sluice --config /etc/sluice/server.toml
sed -i '1i store_url = "postgres://sluice@db.example.com/sluice"' /etc/sluice/server.toml
systemctl start sluice-server
