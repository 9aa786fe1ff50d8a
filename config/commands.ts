// The commands of each plugin. `npm run index` makes command-index.json from them.
import type { DeclaredField } from '../agent/wire/rule-field.ts'
import type { CommandModules } from '../plugins/cli/program/installed-commands.ts'

/** Loads a plugin that adds only options of `rule push` to the command line. */
const pushOptionsOf = (load: () => Promise<Declarations>) => async () => {
  const declared = await load()
  const { pushOptions } = await import('../plugins/rules/command-exports.ts')
  return { fills: [pushOptions(...('field' in declared ? [declared.field] : declared.fields))] }
}

type Declarations = { readonly field: DeclaredField } | { readonly fields: readonly DeclaredField[] }

export const commandModules: CommandModules = {
  agent: () => import('../agent/commands.ts'),
  'advertised-endpoint': () => import('../plugins/advertised-endpoint/commands.ts'),
  apply: () => import('../plugins/apply/commands.ts'),
  audit: () => import('../plugins/audit/commands.ts'),
  auth: () => import('../plugins/auth/commands.ts'),
  amplification: pushOptionsOf(() => import('../plugins/amplification/field.ts')),
  balance: pushOptionsOf(() => import('../plugins/balance/fields.ts')),
  bans: () => import('../plugins/bans/commands.ts'),
  'source-filter': () => import('../plugins/source-filter/commands.ts'),
  'source-limit': pushOptionsOf(() => import('../plugins/source-limit/field.ts')),
  backup: () => import('../plugins/backup/commands.ts'),
  certificate: () => import('../plugins/certificate/commands.ts'),
  cli: () => import('../plugins/cli/commands.ts'),
  clients: () => import('../plugins/clients/commands.ts'),
  connections: () => import('../plugins/connections/commands.ts'),
  credentials: () => import('../plugins/credentials/commands.ts'),
  doctor: () => import('../plugins/doctor/commands.ts'),
  enrollment: () => import('../plugins/enrollment/commands.ts'),
  explain: () => import('../plugins/explain/commands.ts'),
  extensions: () => import('../plugins/extensions/commands.ts'),
  'first-start': () => import('../plugins/first-start/commands.ts'),
  grants: () => import('../plugins/grants/commands.ts'),
  groups: () => import('../plugins/groups/commands.ts'),
  'host-health': () => import('../plugins/host-health/commands.ts'),
  import: () => import('../plugins/import/commands.ts'),
  installer: () => import('../plugins/installer/commands.ts'),
  journal: () => import('../plugins/journal/commands.ts'),
  labels: () => import('../plugins/labels/commands.ts'),
  links: () => import('../plugins/links/commands.ts'),
  loops: () => import('../plugins/loops/commands.ts'),
  metrics: () => import('../plugins/metrics/commands.ts'),
  'multi-target': () => import('../plugins/multi-target/commands.ts'),
  notify: () => import('../plugins/notify/commands.ts'),
  'proxy-protocol': pushOptionsOf(() => import('../plugins/proxy-protocol/fields.ts')),
  oidc: () => import('../plugins/oidc/commands.ts'),
  quota: () => import('../plugins/quota/commands.ts'),
  'rate-limit': () => import('../plugins/rate-limit/commands.ts'),
  rules: () => import('../plugins/rules/commands.ts'),
  schedule: () => import('../plugins/schedule/commands.ts'),
  'second-factor': () => import('../plugins/second-factor/commands.ts'),
  secrets: () => import('../plugins/secrets/commands.ts'),
  servers: () => import('../plugins/servers/commands.ts'),
  service: () => import('../plugins/service/commands.ts'),
  sni: () => import('../plugins/sni/commands.ts'),
  stats: () => import('../plugins/stats/commands.ts'),
  traffic: () => import('../plugins/traffic/commands.ts'),
  'under-attack': () => import('../plugins/under-attack/commands.ts'),
  users: () => import('../plugins/users/commands.ts')
}
