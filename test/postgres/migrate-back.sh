systemctl stop sluice-server
mv /var/lib/sluice/sluice.db /var/lib/sluice/sluice.db.old
sluice store migrate --to sqlite: --config /etc/sluice/server.toml
sed -i '/^store_url/d' /etc/sluice/server.toml
systemctl start sluice-server
