import { requirePrivateDir } from '../../../agent/state/require-private-dir.ts'
import { throwProblems } from '../../../kernel/base/config.ts'
import { Fault, startupInvalid } from '../../../kernel/base/errors.ts'
import { inDependencyOrder } from '../../../kernel/dependency-order.ts'
import type { ServerOptions } from '../../../kernel/kernel.ts'
import { secretProblem } from '../../../kernel/platform/secret-problem.ts'
import { pluginProblems } from '../../../kernel/plugin-problems.ts'
import { type GivenConfig, validateSettings } from '../../../kernel/settings.ts'
import { readPlace } from '../../../kernel/store/sql/database.ts'
import { openCodec } from '../../../kernel/wire/codec.ts'
import { wireMessages } from '../../../kernel/wire/envelope.ts'
import { listensIn, requireDistinctListens } from '../../http/listener-exports.ts'
import { checkFilesystem } from './check-filesystem.ts'

type Judged = GivenConfig & Pick<ServerOptions, 'plugins' | 'dataDir'>

/**
 * Everything that a start refuses before it changes anything. A start, a reload and `config check` call it. Returns the
 * validated top-level keys. Throws Fault.
 */
export function judgeConfiguration({
  plugins,
  dataDir,
  ...given
}: Judged): Readonly<Record<string, unknown>> {
  throwProblems(pluginProblems(plugins))
  inDependencyOrder(plugins)
  const { server, configOf } = validateSettings(plugins, given)
  requireDistinctListens(listensIn(server))
  for (const { name, checkConfig } of plugins) checkConfig?.({ ...server, ...configOf(name) }, plugins)
  requireStorePassword(server)
  openCodec([...wireMessages, ...plugins.flatMap(({ messages }) => messages ?? [])])
  checkFilesystem(dataDir)
  requirePrivateDir(dataDir, 'data_dir')
  return server
}

function requireStorePassword(keys: Readonly<Record<string, unknown>>): void {
  const place = readPlace(keys, '')
  const { password = null } = typeof place === 'string' ? {} : place
  const problem = password === null ? null : secretProblem(password)
  if (problem !== null)
    throw new Fault(startupInvalid, `the password in ${String(keys['store_password_file'])} ${problem}`)
}
