import type { shell as english } from '../en/shell.ts'
import type { Text } from '../en.ts'

export const shell: Pick<Text, keyof typeof english> = {
  product: 'sluice',
  skip: 'Zum Inhalt springen',
  pages: {
    overview: 'Übersicht',
    rules: 'Regeln',
    connections: 'Verbindungen',
    clients: 'Clients',
    links: 'Links',
    users: 'Benutzer',
    quotas: 'Kontingente',
    traffic: 'Datenverkehr',
    bans: 'Sperren',
    sources: 'Quellenlisten',
    notifications: 'Benachrichtigungen',
    audit: 'Audit-Log',
    settings: 'Einstellungen',
    plugins: 'Plugins',
    account: 'Mein Konto',
    device: 'Gerät anmelden'
  },
  nav: 'Seiten',
  menu: 'Menü',
  notFound: 'Seite nicht gefunden',
  toOverview: 'Zurück zur Übersicht',
  account: name => `Konto von ${name}`,
  changePassword: 'Passwort ändern',
  signOut: 'Abmelden',
  theme: { title: 'Design', auto: 'System', light: 'Hell', dark: 'Dunkel' },
  language: 'Sprache',
  palette: {
    open: 'Suche und Befehle',
    placeholder: 'Seiten, Regeln, Clients und Befehle suchen …',
    none: 'Keine Ergebnisse.',
    title: { page: 'Seite', help: 'Hilfe' },
    account: 'Konto'
  },
  keys: {
    title: 'Tastenkürzel',
    search: 'Auf dieser Seite suchen',
    choose: 'In einer Liste bewegen',
    go: 'Ausgewählten Eintrag öffnen',
    leave: 'Schließen',
    next: 'Nächstes Bedienelement'
  },
  pluginPart: { failed: (title, plugin) => `${title} (Plugin ${plugin}) ist fehlgeschlagen` },
  broken: 'Dieser Teil der Seite ist fehlgeschlagen',
  reload: 'Seite neu laden',
  connectionLost: age =>
    `Der Server antwortet nicht. Die Seite zeigt Daten von vor ${age} und verbindet sich automatisch wieder.`,
  age: age => `${age} alt`,
  close: 'Schließen',
  cancel: 'Abbrechen',
  retry: 'Erneut versuchen',
  loading: 'Wird geladen',
  copy: 'Kopieren',
  copied: 'Kopiert',
  failed: 'Etwas ist schiefgelaufen',
  request: id => `Anfrage ${id}`,
  busy: secs => `Zu viele Anfragen. Versuchen Sie es in ${secs} s erneut.`,
  changedElsewhere:
    'Jemand anderes hat dies inzwischen geändert. Die Seite zeigt jetzt den aktuellen Stand. Prüfen Sie ihn und versuchen Sie es erneut.',
  refusedByServer: code => `Der Server hat das abgelehnt (${code}).`,
  storeUnavailable:
    'Der Server kann gerade nicht schreiben. Es wurde nichts geändert. Versuchen Sie es gleich erneut.',
  serverUnreachable:
    'Der Server antwortet nicht. Möglicherweise ist die Änderung trotzdem gespeichert. Prüfen Sie den aktuellen Stand, bevor Sie es erneut versuchen.',

  signIn: {
    title: 'Anmelden',
    user: 'Benutzer',
    password: 'Passwort',
    submit: 'Anmelden',
    forgotten: 'Passwort vergessen? Ein Administrator kann es zurücksetzen.'
  },
  setup: {
    title: 'Willkommen',
    lead: 'Legen Sie den ersten Administrator an.',
    user: 'Benutzer',
    userHint: 'Kleinbuchstaben, Ziffern, - und _',
    name: 'Anzeigename',
    password: 'Passwort',
    passwordHint: 'Mindestens 12 Zeichen. Mehrere Wörter eignen sich gut.',
    again: 'Passwort wiederholen',
    mismatch: 'Die Passwörter stimmen nicht überein.',
    token: 'Setup-Token',
    tokenHint: 'Siehe Server-Log. Das Token gilt 30 Minuten; ein Neustart erzeugt ein neues.',
    submit: 'Administrator anlegen'
  },
  password: {
    title: 'Neues Passwort wählen',
    temporary: 'Ihr Passwort ist vorläufig. Wählen Sie ein eigenes, um fortzufahren.',
    current: 'Aktuelles Passwort',
    next: 'Neues Passwort',
    again: 'Neues Passwort wiederholen',
    submit: 'Passwort ändern',
    done: 'Passwort geändert. Ihre anderen Sitzungen sind beendet.',
    isShort: 'Das Passwort braucht mindestens 12 Zeichen.',
    isCommon:
      'Dieses Passwort ist leicht zu erraten. Wählen Sie ein anderes, etwa mehrere Wörter ohne Zusammenhang.',
    isName:
      'Das Passwort ist ein Name mit wenig mehr. Wählen Sie ein anderes, etwa mehrere Wörter ohne Zusammenhang.'
  },

  table: {
    actions: 'Aktionen',
    search: what => `${what} suchen`,
    columns: 'Spalten',
    sort: 'Sortieren',
    more: 'Mehr anzeigen',
    rows: (n, all) => (n === all ? n : `${n} von ${all}`),
    most: n => `Die ersten ${n} werden angezeigt.`,
    none: 'Keine Ergebnisse.',
    select: what => `${what} auswählen`,
    selectAll: 'Alle auswählen',
    selected: n => `${n} ausgewählt`
  },

  states: {
    active: 'aktiv',
    pending: 'ausstehend',
    paused: 'pausiert',
    failed: 'fehlgeschlagen',
    draining: 'läuft aus',
    partial: 'teilweise',
    expired: 'abgelaufen',
    outside_schedule: 'außerhalb des Zeitplans',
    unknown: 'unbekannt',
    healthy: 'in Ordnung',
    ejected: 'ausgesetzt',
    connected: 'verbunden',
    conflict: 'von zwei Agenten verwendet',
    disconnected: 'getrennt',
    revoked: 'gesperrt',
    unused: 'unbenutzt',
    connecting: 'verbindet sich',
    up: 'steht',
    degraded: 'eingeschränkt',
    down: 'ausgefallen'
  },

  form: {
    line: n => `Zeile ${n}`,
    default: 'Standard',
    labelsExample: 'env=prod',
    invalidJson: 'Geben Sie gültiges JSON ein.',
    quantity: unit => `Schreiben Sie eine Zahl mit Einheit, zum Beispiel 50 M${unit}`
  },
  chart: {
    waiting: 'Wird gemessen. Das Diagramm beginnt in etwa 10 s.',
    upTo: (name, most) => `${name} bis zu ${most}`
  },
  when: {
    never: 'nie',
    zone: zone =>
      zone === 'UTC'
        ? 'Zeiten in UTC.'
        : `Zeiten in ${zone}. Zeigen Sie mit der Maus auf eine Zeit, um sie in UTC zu sehen.`
  },
  secret: {
    once: 'Dies wird nur einmal angezeigt. Kopieren Sie es jetzt.',
    done: 'Fertig'
  },
  editConflict: {
    title: 'Von jemand anderem geändert',
    field: 'Feld',
    now: 'Aktuell',
    yours: 'Ihre Eingabe',
    again: 'Speichern Sie erneut, um die aktuellen Werte zu ersetzen.'
  },
  actions: of => `Aktionen für ${of}`,
  edit: 'Bearbeiten',
  save: 'Speichern',
  delete: 'Löschen',
  optional: label => `${label} (optional)`,
  labels: {
    title: 'Labels',
    hint: 'Eines pro Zeile: env=prod',
    none: 'keine'
  },
  deleted: what => `${what} gelöscht.`,
  saved: 'Gespeichert.',
  cannotUndo: 'Das lässt sich nicht rückgängig machen.',
  number: { connections: n => `Offene Verbindungen, die getrennt werden: ${n}`, unknown: 'unbekannt' }
}
