import { readFileSync } from 'node:fs'

/** Returns the lowest port on which a process may listen without a capability. */
export function firstFreePort(): number {
  try {
    return Number(readFileSync('/proc/sys/net/ipv4/ip_unprivileged_port_start', 'utf8'))
  } catch {
    return 1024 // not Linux, or /proc is hidden
  }
}

/** Returns a remedy to append to the message if a listen failed because of its low port; else ''. */
export function lowPortRemedy(error: unknown, port: number): string {
  const isDenied = error instanceof Error && 'code' in error && error.code === 'EACCES'
  const first = firstFreePort()
  if (!isDenied || port >= first) return ''
  return (
    `; ports below ${first} need CAP_NET_BIND_SERVICE: run it as the unit of sluice service install, which has it, ` +
    'or give it to Node: setcap cap_net_bind_service=+ep "$(command -v node)"'
  )
}
