// The other half on this host: the agent beside a server, or the server beside an agent.
import { parse } from 'smol-toml'
import type { DoctorContext } from '../cli/check-exports.ts'
import { type Listen, overlap } from '../http/listener-exports.ts'

const defaults = {
  server: {
    operator_http_listen: '127.0.0.1:7080',
    control_listen: '[::]:7443',
    metrics_listen: '127.0.0.1:7081'
  },
  agent: { metrics_listen: undefined }
} as const

/** Returns the addresses of `own` that the other half wants, too; as pairs. Reads its configuration in /etc/sluice. */
export function sharedListens(
  { role, host }: Pick<DoctorContext, 'role' | 'host'>,
  own: readonly Listen[],
  env: Readonly<Record<string, string | undefined>>
): (readonly [own: Listen, other: Listen])[] {
  const other = role === 'server' ? 'agent' : 'server'
  const toml = host.read(`/etc/sluice/${other}.toml`)
  const variables = host.read(`/etc/sluice/${other}.env`)
  const units = ['/etc/systemd/system', '/usr/lib/systemd/system'].map(
    dir => `${dir}/sluice-${other}.service`
  )
  const isInstalled = toml !== null || variables !== null || units.some(unit => host.read(unit) !== null)
  if (!isInstalled) return []
  const given = { ...defaults[other], ...tableIn(toml ?? '') }
  const prefixes = other === 'agent' ? ['SVC_AGENT_', 'SVC_'] : ['SVC_']
  const all = { ...env, ...variablesIn(variables ?? '') }
  const listens = Object.keys(defaults[other]).flatMap(key => {
    const variable = prefixes.map(prefix => all[prefix + key.toUpperCase()]).find(value => value)
    const text = variable ?? Reflect.get(given, key)
    return typeof text === 'string' && /:\d+$/.test(text) ? [{ key, text }] : []
  })
  return own.flatMap(one =>
    listens.filter(({ text }) => overlap(one.text, text)).map(two => [one, two] as const)
  )
}

/** Its own doctor reports what is wrong with the file. */
function tableIn(toml: string): object {
  try {
    return parse(toml)
  } catch {
    return {}
  }
}

const variablesIn = (text: string): Record<string, string> =>
  Object.fromEntries(
    [...text.matchAll(/^(SVC_\w+)=(.*)$/gm)].map(([, name = '', value = '']) => [name, value.trim()])
  )
