import type { Text } from '../en.ts'

export const fields: Text['fields'] = {
  client: 'Client',
  clients: 'Clients',
  listen_port: 'Listen-Port',
  listen_port_end: 'Letzter Port',
  targets: 'Ziele',
  protocol: 'Protokoll',
  prefer_ipv6: 'IPv6 bevorzugen',
  owner: 'Besitzer',
  placed_by: 'Freigaben gelten von',
  paused: 'Pausiert',
  amplification: 'Antwortlimit',
  balance: 'Lastverteilung',
  slow_connect_ms: 'Langsame Ziele aussetzen',
  slow_start_secs: 'Langsamer Start',
  source_hash_ipv6_prefix: 'IPv6-Präfixlänge',
  ban: 'Automatische Sperren',
  live: 'Offene Verbindungen',
  for_secs: 'Sperrdauer',
  failed_handshakes: 'Fehlgeschlagene Handshakes',
  name: 'Name',
  description: 'Beschreibung',
  labels: 'Labels',
  health_check_interval_secs: 'Intervall der Zielprüfung',
  proxy_in: 'Vertrauenswürdige Proxys',
  proxy_out: 'Version des PROXY-Headers',
  proxy_out_udp: 'PROXY-Header bei UDP',
  rate_limit: 'Limits der Regel',
  bandwidth_in_bps: 'Bandbreite eingehend',
  bandwidth_out_bps: 'Bandbreite ausgehend',
  bandwidth_in_burst_bytes: 'Burst eingehend',
  bandwidth_out_burst_bytes: 'Burst ausgehend',
  concurrent_connections: 'Gleichzeitige Verbindungen',
  new_connections_per_sec: 'Neue Verbindungen pro Sekunde',
  new_connections_burst: 'Burst neuer Verbindungen',
  not_before: 'Beginnt',
  expires_at: 'Läuft ab',
  schedule: 'Wochenzeiten',
  at_end: 'Offene Verbindungen am Ende',
  sni_pattern: 'TLS-Name',
  sni_fallback: 'Alle anderen Namen annehmen',
  allow_sources: 'Erlaubte Quellen',
  deny_sources: 'Abgelehnte Quellen',
  source_limit: 'Limits pro Quelle',
  connections: 'Gleichzeitige Verbindungen',
  new_connections: 'Neue Verbindungen',
  within_secs: 'Zeitfenster',
  ratio: 'Antwort-Bytes pro Byte des Aufrufers',
  proven_after: 'Aufrufer bestätigt nach'
}

export const fieldHints: Text['fieldHints'] = {
  prefer_ipv6: 'Versucht die IPv6-Adressen eines Namens zuerst.',
  owner: 'Eine Benutzer-ID. Standard: Sie selbst.',
  placed_by: 'Eine Benutzer-ID. Tragen Sie den Besitzer ein, wenn seine Freigaben die Regel erlauben müssen.',
  paused: 'Reserviert den Port und leitet nichts weiter.',
  amplification: 'Begrenzt Antworten, bis der Aufrufer nachweislich unter seiner Adresse erreichbar ist.',
  balance:
    'Wie Verbindungen auf Ziele gleicher Priorität verteilt werden. Standard: das erste verfügbare Ziel.',
  slow_connect_ms:
    'Setzt ein Ziel aus, wenn der Verbindungsaufbau dreimal so lange dauert wie üblich und mindestens um diesen Wert länger. 0: nie. Standard: 250.',
  slow_start_secs:
    'Zeit, in der ein neues oder wiederhergestelltes Ziel seinen vollen Anteil erreicht. Standard: 10.',
  source_hash_ipv6_prefix: 'Aufrufer mit gleichen ersten Bits verwenden dasselbe Ziel. Standard: 128.',
  ban: 'Der Agent sperrt Quellen, die zu viele Verbindungen öffnen oder ungültige Handshakes senden.',
  for_secs: 'Dauer der ersten Sperre. Jede weitere innerhalb eines Tages ist doppelt so lang. Standard: 600.',
  live: 'Was mit offenen Verbindungen einer gesperrten Quelle geschieht. Standard: trennen.',
  failed_handshakes: 'Eine Quelle mit mehr ungültigen Handshakes im Zeitfenster wird gesperrt.',
  new_connections: 'So viele Verbindungen darf eine Quelle im Zeitfenster öffnen.',
  connections: 'Gleichzeitige Verbindungen und UDP-Flüsse einer Quelle.',
  within_secs: 'Länge des Zeitfensters.',
  name: 'a-z, 0-9 und -. Keine andere Regel des Besitzers auf dem Client darf ihn haben.',
  description: 'Eine Notiz in einer Zeile, bis zu 255 Byte.',
  labels: 'Bis zu 32, eines pro Zeile: Schlüssel=Wert.',
  health_check_interval_secs: 'Zeit zwischen zwei Verbindungsversuchen zu jedem Ziel.',
  proxy_in:
    'Adressen und Präfixe vorgeschalteter Proxys. Sie senden einen PROXY-Header; andere Quellen werden abgelehnt.',
  proxy_out: '1 oder 2. Ziele erhalten diesen Header vor dem ersten Byte.',
  proxy_out_udp: 'Ob das erste Datagramm eines Flusses den Header trägt oder jedes.',
  rate_limit: '',
  bandwidth_in_bps: 'Bits pro Sekunde.',
  bandwidth_out_bps: 'Bits pro Sekunde.',
  bandwidth_in_burst_bytes: 'Standard: 100 ms der Bandbreite, mindestens 16 KiB.',
  bandwidth_out_burst_bytes: 'Standard: 100 ms der Bandbreite, mindestens 16 KiB.',
  concurrent_connections: 'Gleichzeitig offen. Ein UDP-Fluss zählt als Verbindung.',
  new_connections_per_sec: 'Ein UDP-Fluss zählt als Verbindung.',
  new_connections_burst: 'Standard: eine Sekunde der Rate.',
  not_before: 'Vorher ist die Regel geschlossen.',
  expires_at: 'Ab dann ist die Regel geschlossen; später wird sie entfernt.',
  at_end: 'Was mit offenen Verbindungen geschieht, wenn die Regel nach Zeitplan schließt.',
  sni_pattern:
    "Ein TLS-Servername oder '*.' und eine Domain. Das Muster passt auf Namen mit genau einem Teil mehr.",
  sni_fallback:
    'Nimmt auf diesem Port Verbindungen ohne TLS oder ohne passenden Namen an, stumme nach 3 Sekunden.',
  allow_sources: 'Nur diese Quellen dürfen die Regel verwenden: Adressen, Präfixe und Listen wie @office.',
  deny_sources:
    'Diese Quellen werden abgelehnt, auch wenn sie oben erlaubt sind: Adressen, Präfixe und Listen wie @office.',
  source_limit: 'Gilt für jede Quelle einzeln: eine IPv4-Adresse oder das /64 einer IPv6-Adresse.',
  ratio: 'Antwort-Bytes, die ein Fluss pro Byte des Aufrufers senden darf.',
  proven_after: 'Nach so vielen Datagrammen, die auf eine Antwort folgten. 0: nie. Standard: 8.'
}

export const choices: Text['choices'] = {
  balance: {
    priority: 'Erstes verfügbares Ziel',
    round_robin: 'Reihum',
    weighted: 'Nach Gewicht',
    least_connections: 'Am wenigsten Verbindungen',
    source_hash: 'Gleiches Ziel pro Aufrufer',
    random_two: 'Das bessere von zwei zufälligen'
  },
  at_end: { keep: 'Offen lassen', drain: 'Auslaufen lassen', cut: 'Trennen' },
  live: { keep: 'Offen lassen', cut: 'Trennen' },
  proxy_out_udp: { first: 'Erstes Datagramm', each: 'Jedes Datagramm' }
}

export const reasons: Text['reasons'] = {
  client_offline:
    'Der Client ist offline. Die Regel läuft möglicherweise weiter, aber ihr Status ist unbekannt.',
  active: 'weitergeleitet',
  connected: 'verbunden',
  connect_refused: 'lehnt Verbindungen ab',
  connect_timeout: 'antwortet nicht',
  unreachable: 'ist nicht erreichbar',
  no_answer: 'antwortet nicht',
  nxdomain: 'Name existiert nicht',
  refused: 'lehnt Verbindungen ab',
  timeout: 'antwortet nicht',
  reset: 'bricht Verbindungen ab',
  dns_nxdomain: 'Name existiert nicht',
  dns_no_address: 'Name hat keine Adresse',
  dns_servfail: 'DNS-Server meldet einen Fehler',
  dns_timeout: 'DNS-Server antwortet nicht',
  denied_by_agent: 'durch die Schutzregeln des Clients verboten',
  target_closed: 'nimmt an und schließt sofort',
  pending: 'Der Client hat es noch nicht bestätigt.',
  client_not_connected: 'Der Client ist offline.',
  rule_name_taken: 'Eine andere Regel des Besitzers auf dem Client hat diesen Namen.',
  port_in_use: 'Ein anderes Programm oder eine andere Regel verwendet diesen Port auf dem Client.',
  client_not_granted: 'Der Besitzer hat keine Freigabe für diesen Client.'
}

export const kinds: Text['kinds'] = {
  state: 'Status',
  failover: 'Failover',
  limit: 'Limit',
  target: 'Ziel',
  edge: 'Client',
  quota: 'Kontingent',
  loop: 'Kreis von Regeln',
  change: 'Änderung',
  under_attack: 'Angriff'
}
