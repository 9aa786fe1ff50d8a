import { engineFault } from './engine-fault.ts'

export interface EngineTarget {
  readonly host: string // an address, or a DNS name that a 'resolve' event resolves
  readonly port: number
  /**
   * The plugin that dials the target: the engine does not resolve the host and checks no filter, see `DialRequest`. Only for
   * TCP, and not in diverts. Absent: the engine dials.
   */
  readonly dialer?: string
  /**
   * With a dialer: its way to the target, at most 128 characters: words separated by spaces. Lists of connections can be
   * filtered by a word. Targets with equal hosts and ports that differ in dialer or path are different targets.
   */
  readonly path?: string
}

interface DialedRule {
  readonly protocol: 'tcp' | 'udp'
  readonly targets: readonly EngineTarget[]
  readonly diverts: readonly { readonly name: string; readonly targets: readonly EngineTarget[] }[]
}

const maxPath = 128

export const isSameTarget = (one: EngineTarget, other: EngineTarget): boolean =>
  one.host === other.host && one.port === other.port && one.dialer === other.dialer && one.path === other.path

/** Throws EngineFault EINVAL if the targets of a rule have dialers or paths that no engine accepts. */
export function checkDialers({ protocol, targets, diverts }: DialedRule): void {
  for (const { dialer, path, host } of targets) {
    if (dialer === undefined) {
      if (path !== undefined) throw engineFault('EINVAL', `target ${host} has a path, but no dialer`)
      continue
    }
    if (protocol === 'udp') throw engineFault('EINVAL', `target ${host} of a UDP rule cannot have a dialer`)
    if (!/^[a-z][a-z0-9-]{0,63}$/.test(dialer))
      throw engineFault('EINVAL', `dialer of ${host} must be the name of a plugin, got ${dialer}`)
    if (path !== undefined && path.length > maxPath)
      throw engineFault(
        'EINVAL',
        `path of ${host} must have at most ${maxPath} characters, got ${path.length}`
      )
  }
  const divert = diverts.find(({ targets }) => targets.some(({ dialer, path }) => dialer ?? path))
  if (divert) throw engineFault('EINVAL', `targets of the divert ${divert.name} cannot have a dialer`)
}
