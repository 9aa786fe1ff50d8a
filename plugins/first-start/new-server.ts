// Starts a new server, and writes its configuration.
import { chmodSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { Fault, reasonOf, wrongUsage } from '../../kernel/base/errors.ts'
import type { CommandCall } from '../../kernel/cli/command.ts'
import { refuseSecond } from './administrator.ts'

type Keys = ReturnType<CommandCall<object>['keys']>

/** Returns the origin of the operator API on this host. */
export function localOrigin({
  operator_http_listen: listen,
  operator_http_tls_cert_path: certificate
}: Keys): string {
  if (certificate !== undefined)
    throw new Fault(
      wrongUsage,
      'the operator API of this host has a certificate: start the server, then give the name in the certificate with --server https://NAME'
    )
  const { hostname, port } = new URL(`http://${listen}`)
  const host = { '0.0.0.0': '127.0.0.1', '[::]': '[::1]' }[hostname] ?? hostname
  return `http://${host}${port === '' ? '' : `:${port}`}`
}

interface Started {
  readonly setupToken: string
  stop(): Promise<void>
}

/** Runs a server, which creates its data directory. Logs only errors. */
export async function startServer(
  { serve, dataDir }: Pick<CommandCall<object>, 'serve' | 'dataDir'>,
  defaults: Keys
): Promise<Started> {
  const end = new AbortController()
  let setupToken: string | undefined
  const { done } = await serve({
    signal: end.signal,
    defaults: { log_level: 'error', ...defaults },
    onLog(event, message) {
      if (event === 'onboarding.setup_token') setupToken = /[\w-]{43}$/.exec(message)?.[0]
      if (event === 'endpoint.unusable') process.stderr.write(`${message}\n`)
    }
  })
  const stop = async (): Promise<void> => {
    end.abort()
    await done
  }
  if (setupToken !== undefined) return { setupToken, stop }
  await stop()
  return refuseSecond(dataDir())
}

/** Writes a configuration that any user may read, because it has no secret. Returns null if the file exists. */
export function writeConfig(file: string, keys: Keys): { readonly undo: () => void } | null {
  if (existsSync(file)) return null
  const lines = Object.entries(keys).map(([key, value]) => `${key} = ${JSON.stringify(value)}\n`)
  const head = '# Configuration of the sluice server. config/server.toml in the package shows every key.\n'
  try {
    const isNew = mkdirSync(dirname(file), { recursive: true }) !== undefined
    if (isNew) chmodSync(dirname(file), 0o755)
    writeFileSync(file, head + lines.join(''), { flag: 'wx' })
    chmodSync(file, 0o644)
    return { undo: () => rmSync(file) }
  } catch (cause) {
    throw new Fault(wrongUsage, `${file} cannot be written: ${reasonOf(cause)}`, { cause })
  }
}
