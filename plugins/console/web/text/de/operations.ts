import type { Text } from '../en.ts'
import { plural } from '../plural.ts'

export const quotas: Text['quotas'] = {
  what: 'Kontingente',
  title: 'Kontingente',
  add: 'Kontingent festlegen',
  none: {
    all: 'Noch keine Kontingente. Benutzer können beliebig viel übertragen.',
    one: 'Keine Kontingente. Dieser Benutzer kann beliebig viel übertragen.'
  },
  emptyOwn: 'Keine Kontingente. Sie können beliebig viel übertragen.',
  user: 'Benutzer',
  client: 'Client',
  size: 'Bytes pro Monat',
  unit: 'Einheit',
  taken: 'Für diesen Client hat der Benutzer schon ein Kontingent. Bearbeiten Sie dieses.',
  sizeHint: 'Eingehend und ausgehend zusammen. 0 stoppt sofort allen Verkehr.',
  anchor: 'Zeitraum beginnt',
  anchorHint:
    'Tag und Uhrzeit, zu denen jeder Monat beginnt. Standard: der erste Tag des Monats, 00:00 UTC. Später nicht änderbar.',
  used: 'Verbraucht',
  usage: (used, size, share) => `${share}: ${used} von ${size}`,
  period: 'Zeitraum endet',
  state: 'Status',
  states: {
    exhausted: 'verbraucht',
    near: 'fast verbraucht',
    open: 'in Ordnung',
    pending: 'noch nicht aktiv'
  },
  pendingHint: 'Der Agent hat diese Größe noch nicht bestätigt.',
  submit: 'Kontingent festlegen',
  editTitle: (user, client) => `Kontingent von ${user} auf ${client}`,
  clear: 'Verbrauch zurücksetzen',
  clearTitle: (user, client) => `Verbrauch von ${user} auf ${client} zurücksetzen?`,
  clearText: used =>
    `Das Kontingent zählt wieder ab 0 (jetzt ${used}). Der Zeitraum bleibt gleich, und vom Kontingent pausierte Regeln laufen weiter. Der Verkehrsverlauf ändert sich nicht.`,
  cleared: 'Verbrauch zurückgesetzt.',
  deleteTitle: (user, client) => `Kontingent von ${user} auf ${client} löschen?`,
  deleteText: 'Die Übertragung ist dort nicht mehr begrenzt. Vom Kontingent pausierte Regeln laufen weiter.',
  set: 'Kontingent gespeichert.'
}

export const traffic: Text['traffic'] = {
  user: 'Benutzer',
  allUsers: 'Alle Benutzer',
  client: 'Client',
  allClients: 'Alle Clients',
  range: 'Zeitraum',
  ranges: {
    hour: 'Letzte Stunde',
    day: 'Letzte 24 Stunden',
    week: 'Letzte 7 Tage',
    month: 'Letzte 30 Tage',
    quarter: 'Letzte 90 Tage'
  },
  callers: { '1m': 'Verbindungen pro Minute', '1h': 'Verbindungen pro Stunde' },
  opened: 'Geöffnet',
  refused: 'Abgelehnt',
  in: 'Eingehend',
  out: 'Ausgehend',
  inAndOut: 'Gesamt',
  total: (bytesIn, bytesOut) => `${bytesIn} eingehend, ${bytesOut} ausgehend`,
  csv: 'CSV herunterladen',
  empty: 'Kein Datenverkehr in diesem Zeitraum.',
  hours: 'Eine Stunde erscheint eine Minute nach ihrem Ende.',
  rows: 'Einzelwerte',
  what: 'Zeiten',
  at: 'Zeit'
}

export const audit: Text['audit'] = {
  what: 'Einträge',
  actor: 'Benutzer',
  action: 'Aktion',
  actionHint: 'rule.create, oder rule.* für alle',
  outcome: 'Ergebnis',
  outcomes: { all: 'alle', allow: 'erlaubt', deny: 'abgelehnt', fail: 'fehlgeschlagen' },
  since: 'Von',
  until: 'Bis',
  request: 'Anfrage-ID',
  filter: 'Filtern',
  clear: 'Filter zurücksetzen',
  follow: 'Live',
  at: 'Zeit',
  on: 'Objekt',
  reason: 'Grund',
  from: 'Adresse',
  count: 'Anfragen',
  pending: 'offen',
  nobody: 'niemand',
  empty: 'Keine passenden Einträge.',
  older: 'Ältere Einträge laden',
  all: 'Keine älteren Einträge.',
  details: 'Einzelheiten',
  entry: 'Audit-Eintrag',
  method: 'Authentifizierung',
  path: 'Anfrage',
  changes: 'Änderungen',
  field: 'Feld',
  before: 'Vorher',
  after: 'Nachher',
  same: 'Alle Einträge dieser Anfrage anzeigen'
}

export const settings: Text['settings'] = {
  endpoint: 'Serveradresse für Clients',
  endpointText: 'Neue Clients verbinden sich mit dieser Adresse. Jeder Registrierungsbefehl enthält sie.',
  effective: 'Aktuelle Adresse',
  sources: { override: 'hier festgelegt', seed: 'aus der Konfiguration', loopback: 'nur dieser Rechner' },
  unusable: 'Es können keine Clients hinzugefügt werden',
  override: 'Eigene Adresse',
  overrideHint:
    'HOST:PORT mit einem Namen, den das Zertifikat abdeckt, zum Beispiel sluice.example.com:7443. Trennen Sie mehrere Adressen mit Kommas.',
  clear: 'Konfiguration verwenden',
  cleared: 'Die Adresse aus der Konfiguration gilt wieder.',
  loopback:
    'Nur ein Agent auf diesem Rechner kann sich verbinden. Legen Sie eine Adresse fest, die andere Hosts erreichen.',
  certificate: 'Zertifikat',
  certificateText: 'Clients vertrauen nur diesem Zertifikat. Sie prüfen seinen Fingerabdruck.',
  names: 'Namen',
  from: 'Gültig ab',
  until: 'Gültig bis',
  origin: 'Herkunft',
  origins: { 'self-made': 'dieser Server', given: 'die Konfiguration: tls_cert_path' },
  ends: when => `Das Zertifikat läuft ${when} ab. Tauschen Sie es bald aus.`,
  rotation: 'Austausch',
  rotationText:
    'Alle Clients lernen das neue Zertifikat kennen, bevor der Server es verwendet. So verliert keiner die Verbindung.',
  rotate: 'Führen Sie diesen Befehl aus. Der Server wechselt, wenn alle Clients das neue Zertifikat kennen:',
  steps: [
    'Stoppen Sie den Server auf seinem Host und stellen Sie Ihr nächstes Zertifikat bereit:',
    'Starten Sie den Server und warten Sie, bis alle Clients das neue Zertifikat kennen. Diese Seite zeigt den Fortschritt.',
    'Stoppen Sie den Server, aktivieren Sie das Zertifikat und starten Sie den Server wieder:'
  ],
  nextIs: 'Nächstes Zertifikat',
  waiting: n => plural(n, 'Client kennt es noch nicht', 'Clients kennen es noch nicht'),
  ready: 'Alle Clients kennen es.',
  servers: 'Server',
  serversText: 'Alle Server dieses Speichers. Ein abgestürzter Server verschwindet nach einer Minute.',
  server: 'Server',
  started: 'Gestartet',
  lastSeen: 'Zuletzt gesehen',
  connected: 'Verbundene Clients',
  leaderOf: 'Leader für',
  version: 'Version',
  pages: 'Konsole'
}

export const pluginsPage: Text['pluginsPage'] = {
  what: 'Plugins',
  name: 'Plugin',
  version: 'Version',
  from: 'Herkunft',
  origins: { 'built in': 'eingebaut', external: 'extern' },
  adds: 'Bringt mit',
  may: 'Rechte',
  parts: (routes, settings) =>
    `${plural(routes, 'Route', 'Routen')}, ${plural(settings, 'Einstellung', 'Einstellungen')}`,
  none: 'Dieses Plugin ist nicht geladen.',
  empty: 'Keine Plugins geladen.',
  agent: 'Läuft auf Agenten',
  yes: 'ja',
  no: 'nein',
  kernel: 'Kernel-Version',
  needs: 'Benötigt',
  routes: 'Routen',
  commands: 'Befehle',
  tables: 'Tabellen',
  fields: 'Regelfelder',
  slots: 'Slots',
  fills: 'Erweitert',
  capabilities: 'Benötigte Agent-Fähigkeiten',
  settings: 'Einstellungen',
  noSettings: 'Keine Einstellungen.',
  value: 'Wert',
  default: 'Standard',
  hidden: 'gesetzt (verborgen, kann geheim sein)',
  unset: 'nicht gesetzt'
}

export const bans: Text['bans'] = {
  what: 'Sperren',
  add: 'Neue Sperre',
  show: 'Anzeigen',
  shown: { in_force: 'Aktive', all: 'Letzte 30 Tage' },
  empty: 'Keine aktiven Sperren.',
  emptyAll: 'Keine Sperren in den letzten 30 Tagen.',
  source: 'Quelle',
  sourceHint: 'Eine IP-Adresse oder ein Präfix, zum Beispiel 198.51.100.7 oder 2001:db8::/64',
  where: 'Client',
  allClients: 'alle Clients',
  rule: 'Regel',
  allRules: 'alle Regeln',
  time: 'Dauer',
  times: { hour: '1 Stunde', day: '1 Tag', week: '1 Woche', month: '30 Tage' },
  reason: 'Grund',
  live: 'Offene Verbindungen der Quelle',
  lives: { cut: 'Trennen', keep: 'Offen lassen' },
  submit: 'Sperren',
  createdNotice: n => plural(n, 'Sperre angelegt.', 'Sperren angelegt.'),
  cause: 'Anlass',
  causes: {
    operator: 'ein Operator',
    new_connections: 'zu viele Verbindungen',
    failed_handshakes: 'fehlgeschlagene Handshakes'
  },
  by: 'Von',
  agent: 'Agent',
  began: 'Seit',
  until: 'Bis',
  nth: n => `Sperre Nr. ${n}`,
  state: 'Status',
  states: { in_force: 'aktiv', ended: 'beendet', lifted: 'aufgehoben' },
  liftedBy: who => `aufgehoben von ${who}`,
  lift: 'Aufheben',
  liftTitle: (source, client) => `Sperre von ${source} auf ${client} aufheben?`,
  liftText: 'Die Quelle kann sich sofort wieder verbinden.',
  lifted: 'Sperre aufgehoben.'
}

export const underAttack: Text['underAttack'] = {
  turnOn: 'Angriff: alle Limits verschärfen',
  turnOff: 'Ausschalten',
  turnedOn: 'Limits verschärft.',
  turnedOff: 'Normale Limits gelten wieder.',
  isOn: 'Limits sind verschärft',
  what: 'Jedes Limit pro Quelle sinkt auf ein Viertel. Regeln ohne solches Limit erlauben 20 Verbindungen pro Quelle und 20 neue in 10 s. UDP-Regeln antworten mit höchstens der dreifachen Größe der Anfrage. Offene Verbindungen bleiben bestehen.',
  client: 'Client',
  newClients: 'neue Clients',
  offTitle: client => `Ausschalten für ${client}?`,
  offText: 'Die normalen Limits der Regeln gelten sofort wieder.'
}

export const sources: Text['sources'] = {
  what: 'Quellenlisten',
  add: 'Neue Quellenliste',
  empty:
    'Noch keine Quellenlisten. Regeln verwenden eine Liste als @name, um ihre Adressen zu erlauben oder abzulehnen.',
  none: 'Diese Liste gibt es nicht.',
  taken: 'Eine Liste mit diesem Namen gibt es schon. Wählen Sie einen anderen Namen.',
  name: 'Name',
  nameHint: 'Kleinbuchstaben, Ziffern und -. Regeln verwenden die Liste als @name.',
  entries: 'Adressen und Präfixe',
  entriesHint: 'Eine pro Zeile. # beginnt einen Kommentar.',
  count: 'Einträge',
  updated: 'Geändert',
  submit: 'Liste speichern',
  saved: name => `Liste ${name} gespeichert.`,
  affects: n =>
    `Verwendet von ${plural(n, 'Regel', 'Regeln')}. Offene Verbindungen, die die Liste nicht mehr erlaubt, werden getrennt.`,
  inUse: n =>
    `Verwendet von ${plural(n, 'Regel', 'Regeln')}. Entfernen Sie die Liste aus den Regeln, bevor Sie sie löschen.`,
  deleteTitle: (name, n) => `Liste ${name} mit ${plural(n, 'Eintrag', 'Einträgen')} löschen?`
}
