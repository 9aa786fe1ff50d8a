import { clients, enrollmentKeys } from './de/clients.ts'
import { errors, invalid } from './de/errors.ts'
import { choices, fieldHints, fields, kinds, reasons } from './de/fields.ts'
import { links } from './de/links.ts'
import { notifications } from './de/notifications.ts'
import { audit, bans, quotas, settings, sources, traffic, underAttack } from './de/operations.ts'
import { attention, overview } from './de/overview.ts'
import { pluginsPage } from './de/plugins.ts'
import { connections, existing, explain, ruleDetail, ruleForm, rules } from './de/rules.ts'
import { shell } from './de/shell.ts'
import {
  accountPage,
  confirmation,
  device,
  factors,
  grants,
  identities,
  limits,
  proofs,
  secondFactor,
  sessions,
  tokens,
  users
} from './de/users.ts'

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
  links,
  fields,
  fieldHints,
  choices,
  reasons,
  errors,
  invalid,
  kinds,
  users,
  grants,
  identities,
  limits,
  tokens,
  sessions,
  accountPage,
  factors,
  secondFactor,
  confirmation,
  proofs,
  device,
  quotas,
  traffic,
  notifications,
  audit,
  bans,
  underAttack,
  sources,
  settings,
  pluginsPage
}
