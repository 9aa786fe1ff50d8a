import type { Text } from '../en.ts'
import { plural } from '../plural.ts'

export const users: Text['users'] = {
  what: 'Benutzer',
  add: 'Neuer Benutzer',
  empty: 'Noch keine Benutzer.',
  none: 'Diesen Benutzer gibt es nicht.',
  id: 'Benutzer',
  idHint:
    'Bis zu 32 Kleinbuchstaben, Ziffern, - und _, beginnend mit einem Buchstaben. Später nicht änderbar.',
  name: 'Anzeigename',
  role: 'Rolle',
  roles: { superadmin: 'Administrator', operator: 'Operator', viewer: 'Betrachter', user: 'Benutzer' },
  roleHint:
    'Administratoren sehen und ändern alles. Operatoren sehen alles und verwalten Clients, Regeln und Limits. Betrachter sehen alles. Benutzer legen Regeln im Rahmen ihrer Freigaben an.',
  state: 'Status',
  enabled: 'aktiv',
  disabled: 'deaktiviert',
  temporary: 'vorläufiges Passwort',
  rules: 'Regeln',
  grants: 'Freigaben',
  created: 'Angelegt',
  signIn: 'Anmeldung',
  signIns: {
    temporary: 'Vorläufiges Passwort, einmal angezeigt',
    chosen: 'Passwort festlegen',
    none: 'Kein Passwort, nur Token'
  },
  password: 'Passwort',
  passwordHint: 'Mindestens 12 Zeichen',
  mustChange: 'Neues Passwort bei der ersten Anmeldung verlangen',
  submit: 'Benutzer anlegen',
  createdNotice: id => `Benutzer ${id} angelegt.`,
  disable: 'Deaktivieren',
  enable: 'Aktivieren',
  disableTitle: id => `${id} deaktivieren?`,
  disableText: 'Alle Sitzungen enden, und Token funktionieren nicht mehr. Die Regeln laufen weiter.',
  reset: 'Passwort zurücksetzen',
  resetTitle: id => `Passwort von ${id} zurücksetzen?`,
  resetText:
    'Alle Sitzungen des Benutzers enden. Sie erhalten ein vorläufiges Passwort, das einmal angezeigt wird. Der Benutzer muss es bei der nächsten Anmeldung ändern, innerhalb von 24 Stunden.',
  keepTokens: 'Token weiter gültig lassen',
  resetDone: (sessions, tokens) => `Beendete Sitzungen: ${sessions}. Widerrufene Token: ${tokens}.`,
  temporaryPassword: id => `Vorläufiges Passwort von ${id}`,
  delete: 'Benutzer löschen',
  deleteTitle: id => `${id} löschen?`,
  deleteText: (rules, grants, tokens) =>
    `Damit werden auch ${plural(rules, 'Regel', 'Regeln')}, ${plural(grants, 'Freigabe', 'Freigaben')}, ${plural(tokens, 'Token', 'Token')} sowie alle Kontingente und Limits des Benutzers gelöscht. Die Ports der Regeln schließen sofort.`,
  audit: 'Aktivität dieses Benutzers',
  traffic: 'Datenverkehr',
  sessions: 'Sitzungen',
  sessionsText:
    'Die Sitzungen anderer Benutzer sind nicht sichtbar. Um sie alle zu beenden, setzen Sie das Passwort zurück oder deaktivieren Sie den Benutzer.'
}

export const grants: Text['grants'] = {
  what: 'Freigaben',
  title: 'Freigaben',
  add: 'Neue Freigabe',
  none: {
    superadmin: 'Keine Freigaben. Administratoren brauchen keine.',
    operator: 'Keine Freigaben. Operatoren brauchen keine.',
    viewer: 'Keine Freigaben. Betrachter legen keine Regeln an.',
    user: 'Noch keine Freigaben. Ohne Freigabe kann dieser Benutzer keine Regeln anlegen.'
  },
  emptyOwn: 'Sie haben noch keine Freigaben. Bitten Sie einen Administrator darum.',
  client: 'Client',
  everyClient: 'alle Clients',
  ports: 'Ports',
  first: 'Erster Port',
  last: 'Letzter Port',
  protocols: 'Protokolle',
  targets: 'Ziele',
  targetsHint:
    'Eines pro Zeile: 10.0.0.0/8, 10.0.0.5:443, db.example:5000-5010. Leer lassen, um alle Ziele zu erlauben.',
  anyTarget: 'alle Ziele',
  note: 'Notiz',
  submit: 'Freigabe anlegen',
  createdNotice: 'Freigabe angelegt.',
  editTitle: 'Notiz und Labels bearbeiten',
  name: (client, ports) => `${client}, Ports ${ports}`,
  deleteTitle: name => `Freigabe für ${name} löschen?`,
  deleteText: n =>
    `Regeln dieses Benutzers, die keine andere Freigabe erlaubt, werden auch gelöscht (höchstens ${n}). Ihre Ports schließen sofort.`,
  deleted: n => `Freigabe gelöscht, zusammen mit ${plural(n, 'Regel', 'Regeln')}.`
}

export const limits: Text['limits'] = {
  title: 'Limits auf einem Client',
  text: 'Gelten für alle Regeln eines Benutzers auf einem Client zusammen. Leer lassen, um nicht zu begrenzen.',
  none: 'Keine Limits auf diesem Client.',
  set: 'Limits setzen',
  change: 'Limits ändern',
  of: (user, client) => `Limits von ${user} auf ${client}`,
  noClients: 'Noch keine Clients.',
  bandwidth_in_bps: 'Bandbreite eingehend, Mbit/s',
  bandwidth_out_bps: 'Bandbreite ausgehend, Mbit/s',
  bandwidth_in_burst_bytes: 'Burst eingehend, MB',
  bandwidth_out_burst_bytes: 'Burst ausgehend, MB',
  concurrent_connections: 'Gleichzeitige Verbindungen',
  new_connections_per_sec: 'Neue Verbindungen pro Sekunde',
  new_connections_burst: 'Burst neuer Verbindungen',
  enforced: 'Auf dem Client aktiv',
  pending: 'Auf dem Client noch nicht aktiv',
  remove: 'Limits entfernen',
  removeTitle: (user, client) => `Limits von ${user} auf ${client} entfernen?`,
  removeText: 'Offene Verbindungen laufen ohne Limits weiter.',
  removed: 'Limits entfernt.'
}

export const tokens: Text['tokens'] = {
  what: 'Token',
  title: 'Token',
  text: 'Bearer-Token für Programme und die Kommandozeile.',
  add: 'Token erstellen',
  empty: 'Noch keine Token.',
  label: 'Bezeichnung',
  labelHint: 'Wo Sie es verwenden, zum Beispiel deploy@ci',
  validFor: 'Gültigkeit',
  lifetimes: {
    never: 'unbegrenzt',
    day: '1 Tag',
    month: '30 Tage',
    quarter: '90 Tage',
    year: '1 Jahr'
  },
  issue: 'Erstellen',
  token: 'Token',
  created: 'Erstellt',
  used: 'Zuletzt verwendet',
  expires: 'Läuft ab',
  state: 'Status',
  states: { valid: 'gültig', revoked: 'widerrufen', expired: 'abgelaufen' },
  rotate: 'Erneuern',
  rotateTitle: label => `Token ${label} erneuern?`,
  rotateText: 'Das alte Token wird sofort ungültig. Ersetzen Sie es überall, wo es verwendet wird.',
  revoke: 'Widerrufen',
  revokeTitle: label => `Token ${label} widerrufen?`,
  revokeText: 'Programme mit diesem Token werden ab sofort abgelehnt.',
  revoked: 'Token widerrufen.',
  unnamed: 'ohne Bezeichnung'
}

export const sessions: Text['sessions'] = {
  what: 'Sitzungen',
  title: 'Sitzungen',
  empty: 'Keine Sitzungen. Sie sind mit einem Token angemeldet.',
  from: 'Adresse',
  began: 'Begonnen',
  seen: 'Zuletzt aktiv',
  ends: 'Läuft ab',
  current: 'diese Sitzung',
  end: 'Beenden',
  endTitle: from => `Sitzung von ${from} beenden?`,
  endText: 'Der Browser muss sich neu anmelden.',
  ended: 'Sitzung beendet.'
}

export const accountPage: Text['accountPage'] = {
  who: (id, role) => `${id}, ${role}`,
  appearance: 'Darstellung',
  grants: 'Ihre Freigaben'
}
