import { clients, enrollmentKeys } from './de/clients.ts'
import { choices, fieldHints, fields, kinds, reasons } from './de/fields.ts'
import { audit, bans, pluginsPage, quotas, settings, sources, traffic, underAttack } from './de/operations.ts'
import { attention, overview } from './de/overview.ts'
import { connections, existing, explain, ruleDetail, ruleForm, rules } from './de/rules.ts'
import { shell } from './de/shell.ts'
import { accountPage, grants, limits, sessions, tokens, users } from './de/users.ts'

import type { Text } from './en.ts'

export const de: Text = {
  ...shell,
  overview,
  attention,
  rules,
  ruleForm,
  existing,
  ruleDetail,
  explain,
  connections,
  clients,
  enrollmentKeys,
  fields,
  fieldHints,
  choices,
  reasons,
  kinds,
  users,
  grants,
  limits,
  tokens,
  sessions,
  accountPage,
  quotas,
  traffic,
  audit,
  bans,
  underAttack,
  sources,
  settings,
  pluginsPage
}
