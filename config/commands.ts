// What each plugin adds to the command line. The index of it, command-index.json, is made by `npm run index`.
import type { CommandModules } from '../plugins/cli/installed.ts'

export const commandModules: CommandModules = {
  agent: () => import('../agent/commands.ts'),
  'advertised-endpoint': () => import('../plugins/advertised-endpoint/commands.ts'),
  apply: () => import('../plugins/apply/commands.ts'),
  audit: () => import('../plugins/audit/commands.ts'),
  auth: () => import('../plugins/auth/commands.ts'),
  backup: () => import('../plugins/backup/commands.ts'),
  cli: () => import('../plugins/cli/commands.ts'),
  clients: () => import('../plugins/clients/commands.ts'),
  control: () => import('../plugins/control/commands.ts'),
  credentials: () => import('../plugins/credentials/commands.ts'),
  doctor: () => import('../plugins/doctor/commands.ts'),
  enrollment: () => import('../plugins/enrollment/commands.ts'),
  extensions: () => import('../plugins/extensions/commands.ts'),
  grants: () => import('../plugins/grants/commands.ts'),
  installer: () => import('../plugins/installer/commands.ts'),
  journal: () => import('../plugins/journal/commands.ts'),
  labels: () => import('../plugins/labels/commands.ts'),
  'multi-target': () => import('../plugins/multi-target/commands.ts'),
  'proxy-protocol': () => import('../plugins/proxy-protocol/commands.ts'),
  quota: () => import('../plugins/quota/commands.ts'),
  'rate-limit': () => import('../plugins/rate-limit/commands.ts'),
  rules: () => import('../plugins/rules/commands.ts'),
  service: () => import('../plugins/service/commands.ts'),
  setup: () => import('../plugins/setup/commands.ts'),
  sni: () => import('../plugins/sni/commands.ts'),
  stats: () => import('../plugins/stats/commands.ts'),
  traffic: () => import('../plugins/traffic/commands.ts'),
  up: () => import('../plugins/up/commands.ts'),
  users: () => import('../plugins/users/commands.ts')
}
