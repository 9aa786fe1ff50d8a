import type { Text } from '../en.ts'
import { plural } from '../plural.ts'

export const overview: Text['overview'] = {
  welcome: 'Drei Schritte bis zur ersten Verbindung',
  stepClient: 'Client hinzufügen',
  stepClientText:
    'Ein Client ist ein Host, auf dem der sluice-Agent läuft. Der Agent öffnet Ports und leitet Datenverkehr weiter.',
  stepRule: 'Regel anlegen',
  stepRuleText: 'Eine Regel leitet einen Port eines Clients an ein Ziel weiter.',
  stepUse: 'Verbinden',
  stepUseText: 'Verbinden Sie sich mit dem Port. Die Zeile unten zählt, was weitergeleitet wird.',
  test: 'Testbyte senden',
  testText: 'Der Client verbindet sich wie ein Aufrufer mit seinem eigenen Port und meldet das Ergebnis.',
  speed: 'Durchsatz',
  waiting: 'Wartet auf die erste Verbindung',
  forwarded: (connections, bytes) => `Verbindungen: ${connections}, weitergeleitet: ${bytes}`,
  clients: 'Verbundene Clients',
  rules: 'Aktive Regeln',
  connections: 'Offene Verbindungen',
  in: 'Eingehend',
  out: 'Ausgehend',
  trafficIn: 'Eingehender Verkehr',
  trafficOut: 'Ausgehender Verkehr',
  total: bytes => `${bytes} insgesamt`,
  top: 'Meister Datenverkehr in den letzten 24 Stunden',
  topBy: { rule: 'Regeln', client: 'Clients', owner: 'Benutzer', target: 'Ziele' },
  changes: 'Letzte Änderungen',
  noChanges: 'Noch keine Änderungen.',
  versions: 'Versionen der Agents',
  noVersion: 'noch nicht verbunden',
  clientsWith: n => (n === '1' ? '1 Client' : `${n} Clients`),
  noneGranted:
    'Sie haben noch keinen Zugriff auf einen Client. Bitten Sie einen Administrator um eine Freigabe.'
}

export const attention: Text['attention'] = {
  title: 'Handlungsbedarf',
  none: 'Alles läuft.',
  clientOffline: name => `Client ${name} ist offline`,
  clientsOffline: n => plural(n, 'Client ist offline', 'Clients sind offline'),
  failed: n => plural(n, 'Regel ist fehlgeschlagen', 'Regeln sind fehlgeschlagen'),
  partial: n => plural(n, 'Regel fehlt auf einigen Clients', 'Regeln fehlen auf einigen Clients'),
  pending: n => plural(n, 'Regel wartet auf ihren Client', 'Regeln warten auf ihre Clients'),
  targets: n => plural(n, 'Regel hat ausgefallene Ziele', 'Regeln haben ausgefallene Ziele'),
  quotasExhausted: n => plural(n, 'Kontingent ist verbraucht', 'Kontingente sind verbraucht'),
  quotasNear: n => plural(n, 'Kontingent ist fast verbraucht', 'Kontingente sind fast verbraucht'),
  denied: n =>
    plural(
      n,
      'Anfrage wurde in der letzten Stunde abgelehnt',
      'Anfragen wurden in der letzten Stunde abgelehnt'
    )
}
