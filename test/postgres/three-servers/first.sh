database=root@db.example.com
scp "$database:/root/sluice-db.pem" /etc/sluice/db.pem
(umask 077 && cat > /etc/sluice/server.env) << END
SVC_SERVER_ID=gate-1
SVC_STORE_PASSWORD=$(ssh "$database" cat /root/sluice-password)
SVC_OPERATOR_TOKEN=$(openssl rand -hex 32)
END
apt-get install --yes -o Dpkg::Options::=--force-confold ./sluice_*.deb ./sluice-server_*.deb
