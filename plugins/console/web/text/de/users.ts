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
  kind: 'Art',
  kinds: { user: 'Benutzer', service: 'Dienstkonto' },
  kindHint:
    'Ein Dienstkonto ist für Programme: Es hat Token, kann sich aber nicht anmelden. Sie können die Art später nicht ändern.',
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
  roleFrom: (role, provider) => `${role}, durch Gruppen bei ${provider}`,
  dropFactors: 'Zweite Faktoren entfernen',
  dropFactorsTitle: id => `Zweite Faktoren von ${id} entfernen?`,
  dropFactorsText:
    'Danach genügt das Passwort. Stellen Sie sicher, dass wirklich dieser Benutzer fragt. Wurde ein Gerät gestohlen, setzen Sie auch das Passwort zurück.',
  factorsDropped: id => `${id} hat keinen zweiten Faktor mehr.`,
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
  exit: 'Ausgang',
  use: 'Erlaubt',
  useHint:
    'Eine Ausgangs-Freigabe öffnet keine Ports: Regeln auf anderen Clients dürfen Ziele über den Client erreichen.',
  uses: { listen: 'Regeln auf dem Client', exit: 'Nutzung als Ausgang oder Zwischenstation' },
  entries: 'Für Regeln auf',
  entriesHint: 'Clients, deren Regeln über diesen gehen dürfen. Keiner ausgewählt: alle.',
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
  empty: 'Noch keine Token. Mit einem Token meldet sich ein Programm oder die Befehlszeile an.',
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
  access: 'Zugriff',
  accesses: { all: 'alles, was der Benutzer darf', read: 'nur lesen', chosen: 'ausgewählte Rechte' },
  accessHint:
    'Rechte begrenzen, was das Token darf. user:write, password:write und credential:write eines Administrators führen zu vollem Zugriff.',
  scopes: 'Rechte',
  sources: 'Erlaubte Quellen',
  sourcesHint:
    'Netze, aus denen das Token funktioniert, eines pro Zeile: 192.0.2.0/24. Leer lassen, um alle zu erlauben.',
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
  factors: 'Angemeldet mit',
  began: 'Begonnen',
  seen: 'Zuletzt aktiv',
  ends: 'Läuft ab',
  current: 'diese Sitzung',
  end: 'Beenden',
  endTitle: from => `Sitzung von ${from} beenden?`,
  endText: 'Der Browser muss sich neu anmelden.',
  ended: 'Sitzung beendet.'
}

export const identities: Text['identities'] = {
  what: 'Identitäten',
  title: 'Identitäten',
  note: 'Konten bei Anbietern, mit denen sich dieser Benutzer anmeldet.',
  ownNote: 'Konten bei Anbietern, mit denen Sie sich anmelden.',
  empty: 'Keine Identitäten.',
  provider: 'Anbieter',
  sub: 'Kennung beim Anbieter',
  subHint: 'Der Wert „sub“ des Benutzers, nicht der Name.',
  added: 'Hinzugefügt',
  used: 'Zuletzt benutzt',
  add: 'Identität hinzufügen',
  addedNotice: 'Identität hinzugefügt.',
  remove: 'Entfernen',
  removeTitle: provider => `Identität bei ${provider} entfernen?`,
  removeText:
    'Sie öffnet dann keine Sitzung mehr. Die von ihr geöffneten Sitzungen enden, außer Ihren eigenen.',
  removed: 'Identität entfernt.',
  continueWith: provider => `Weiter mit ${provider}`
}

export const accountPage: Text['accountPage'] = {
  who: (id, role) => `${id}, ${role}`,
  appearance: 'Darstellung',
  grants: 'Ihre Freigaben'
}

export const factors: Text['factors'] = {
  password: 'Passwort',
  totp: 'Authenticator-App',
  recovery_code: 'Wiederherstellungscodes',
  oidc: 'Anbieter',
  mfa: 'zweiter Faktor beim Anbieter'
}

export const secondFactor: Text['secondFactor'] = {
  title: 'Zweiter Faktor',
  none: 'Keiner. Das Passwort allein genügt für die Anmeldung.',
  noneShort: 'keiner',
  needed: 'Ihr Konto braucht einen zweiten Faktor.',
  setUp: 'Authenticator-App einrichten',
  setUpAnother: 'Andere App einrichten',
  scan: 'Scannen Sie diesen Code mit einer Authenticator-App auf Ihrem Telefon.',
  qrCode: 'QR-Code für die Authenticator-App',
  type: 'Oder geben Sie diesen Schlüssel in der App ein:',
  back: 'Neu beginnen',
  confirm: 'Bestätigen',
  recoveryCodes: 'Wiederherstellungscodes. Jeder meldet Sie einmal ohne die App an.',
  renew: 'Neue Wiederherstellungscodes',
  renewTitle: 'Neue Wiederherstellungscodes erzeugen?',
  renewText: 'Die früheren Codes gelten dann nicht mehr.',
  remove: 'App entfernen',
  removeTitle: 'Authenticator-App entfernen?',
  removeText: 'Danach genügt das Passwort. Die Wiederherstellungscodes gelten nicht mehr.',
  removed: 'Die Authenticator-App ist entfernt.'
}

export const proofs: Text['proofs'] = {
  password: 'Passwort',
  totp: 'Code aus Ihrer Authenticator-App',
  recovery_code: 'Wiederherstellungscode'
}

export const confirmation: Text['confirmation'] = {
  title: 'Bestätigen Sie, dass Sie es sind',
  lead: 'Danach werden Sie 15 Minuten lang nicht gefragt.'
}

export const device: Text['device'] = {
  lead: 'Geben Sie den Code ein, den das Gerät oder die Befehlszeile zeigt. Sie melden es unter Ihrem Namen an.',
  code: 'Code',
  codeHint: 'Acht Buchstaben, etwa BCDF-GHJK',
  review: 'Weiter',
  label: 'Gerät',
  from: 'Adresse',
  access: 'Zugriff',
  expires: 'Code läuft ab',
  warning:
    'Genehmigen Sie nur ein Gerät, das Sie gerade selbst gestartet haben. Wer Ihnen einen Link oder Code geschickt hat, bekommt Ihren Zugriff.',
  approve: 'Genehmigen',
  deny: 'Ablehnen',
  approved: 'Das Gerät ist angemeldet. Es macht in wenigen Sekunden weiter.',
  denied: 'Das Gerät ist abgelehnt.'
}
