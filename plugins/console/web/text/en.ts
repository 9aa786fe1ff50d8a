// All texts of the console, by page. A key that another language lacks, or has in addition, fails the type check.
import { clients, enrollmentKeys } from './en/clients.ts'
import { choices, fieldHints, fields, kinds, reasons } from './en/fields.ts'
import { audit, bans, pluginsPage, quotas, settings, sources, traffic, underAttack } from './en/operations.ts'
import { attention, overview } from './en/overview.ts'
import { connections, existing, explain, ruleDetail, ruleForm, rules } from './en/rules.ts'
import { shell } from './en/shell.ts'
import { accountPage, grants, limits, sessions, tokens, users } from './en/users.ts'

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

export type Text = typeof en
