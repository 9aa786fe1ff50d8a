import { defineEntity, p } from '@mikro-orm/core'
import { ruleKey } from '../rules/exports.ts'
import type { Clients } from './group-clients.ts'

export const GroupClients = defineEntity({
  name: 'GroupClients',
  tableName: 'groups_clients',
  properties: { rule: ruleKey(), clients: p.json().$type<Clients>() }
})
