import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { ruleKey } from '../rules/exports.ts'

/** What a rule has of the PROXY protocol; each column is a field of its own. */
export const ProxyProtocol = defineEntity({
  name: 'ProxyProtocol',
  tableName: 'proxy_protocol',
  properties: {
    rule: ruleKey(),
    senders: p.json().$type<readonly string[]>().nullable(),
    version: p.integer().$type<1 | 2>().nullable(),
    datagrams: p.string().length(5).$type<'first' | 'each'>().nullable()
  }
})
export type ProxyProtocol = InferEntity<typeof ProxyProtocol>
