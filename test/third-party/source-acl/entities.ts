import { defineEntity, p, rules } from 'sluice/plugin'

export const SourceAcl = defineEntity({
  name: 'SourceAcl',
  tableName: 'source_acl',
  properties: {
    rule: rules.ruleKey,
    allow: p.json().$type<readonly string[]>(),
    deny: p.json().$type<readonly string[]>()
  }
})
