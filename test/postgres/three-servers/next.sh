id=gate-2
first=root@gate-1.example.com
install -d /etc/sluice
install -d -m 700 /var/lib/sluice
scp -p "$first:/etc/sluice/server.toml" "$first:/etc/sluice/db.pem" "$first:/etc/sluice/server.env" /etc/sluice
sed -i "s/^SVC_SERVER_ID=.*/SVC_SERVER_ID=$id/" /etc/sluice/server.env
scp -p "$first:/var/lib/sluice/store.key" /var/lib/sluice
apt-get install --yes -o Dpkg::Options::=--force-confold ./sluice_*.deb ./sluice-server_*.deb
