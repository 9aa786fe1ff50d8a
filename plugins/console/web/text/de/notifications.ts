import type { Text } from '../en.ts'

export const notifications: Text['notifications'] = {
  channels: 'Kanäle',
  noChannels:
    'Noch keine Kanäle. Tragen Sie welche in der Konfiguration des Servers ein, unter plugins.notify.channels.',
  channel: 'Kanal',
  type: 'Art',
  for: 'Für',
  everybody: 'alle Ereignisse',
  lastSuccess: 'Letzter Erfolg',
  lastError: 'Letzter Fehler',
  waiting: 'Wartend',
  test: 'Testen',
  testOf: name => `Einen Test an ${name} senden`,
  delivered: 'Zugestellt.',
  notDelivered: 'Nicht zugestellt.',
  newest: 'Neueste Benachrichtigungen',
  none: 'Noch keine Benachrichtigungen.',
  noneOwn: 'Keine Benachrichtigungen zu Ihren Regeln, Kontingenten oder Tokens.',
  at: 'Zeit',
  kind: 'Was',
  objects: 'Objekte',
  more: (names, count) => `${names} und ${count} weitere`,
  deliveries: 'Gesendet an',
  states: { waiting: 'wartet', delivered: 'zugestellt', failed: 'nicht zugestellt' },
  kinds: {
    edge_away: 'Client nicht verbunden',
    edge_back: 'Client wieder verbunden',
    rule_failed: 'Regel fehlgeschlagen',
    targets_failed: 'Alle Ziele ausgefallen',
    quota: 'Kontingent zu 80 % oder 100 % verbraucht',
    expires_soon: 'Läuft bald ab',
    superadmin_sign_in: 'Superadmin aus neuem Netz angemeldet',
    backup_old: 'Backup älter als 48 Stunden'
  }
}
