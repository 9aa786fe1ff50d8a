import { defineEntity, p, rules } from 'sluice/plugin'

export const SendersRow = defineEntity({
  name: 'ProxyProtocolIn',
  tableName: 'proxy_protocol_in',
  properties: { rule: rules.ruleKey, from: p.json().$type<readonly string[]>() }
})

export const OutgoingRow = defineEntity({
  name: 'ProxyProtocolOut',
  tableName: 'proxy_protocol_out',
  properties: { rule: rules.ruleKey }
})
