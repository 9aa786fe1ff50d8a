// All texts of the console, by page. A key that another language lacks, or has in addition, fails the type check.
import { clients, enrollmentKeys } from './en/clients.ts'
import { errors, invalid } from './en/errors.ts'
import { choices, fieldHints, fields, kinds, reasons } from './en/fields.ts'
import { links } from './en/links.ts'
import { notifications } from './en/notifications.ts'
import { audit, bans, quotas, settings, sources, traffic, underAttack } from './en/operations.ts'
import { attention, overview } from './en/overview.ts'
import { pluginsPage } from './en/plugins.ts'
import { connections, existing, explain, ruleDetail, ruleForm, rules } from './en/rules.ts'
import { shell } from './en/shell.ts'
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
} from './en/users.ts'

export const en = {
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

export type Text = typeof en
