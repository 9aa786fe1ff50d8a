import { networkOf } from '../../../kernel/platform/network.ts'
import type { Kernel } from '../../../kernel/plugin.ts'
import { protocolVersion } from '../../../kernel/wire/control.ts'
import { Refused } from '../../../kernel/wire/message.ts'

interface Caller {
  readonly remoteAddr: string
  readonly agentVersion: string
  readonly version: number // of the protocol
}

const warnEveryMs = 60_000
const maxNetworks = 1_000

/** Returns a function that refuses agents with another version of the protocol, and warns once per network and minute. */
export function openVersionCheck({ clock, log }: Pick<Kernel, 'clock' | 'log'>) {
  const warned = new Set<string>() // networks of the last minute

  function warn({ remoteAddr, agentVersion, version }: Caller, message: string): void {
    const network = networkOf(remoteAddr)
    if (warned.has(network) || warned.size >= maxNetworks) return
    warned.add(network)
    clock.after(warnEveryMs, () => warned.delete(network))
    log.warn('control.protocol_version', message, {
      remote_addr: remoteAddr,
      agent_version: agentVersion,
      protocol_version: version
    })
  }

  return (caller: Caller): void => {
    if (caller.version === protocolVersion) return
    const message = `this server speaks version ${protocolVersion} of the protocol, not ${caller.version}`
    warn(caller, message)
    throw new Refused('wire.protocol_version', message)
  }
}
