/** Returns a different loopback address for each agent, like those of real agents: 250 per network. */
export const agentAddress = (at: number): string =>
  `127.${1 + Math.floor(at / 62_500)}.${Math.floor(at / 250) % 250}.${1 + (at % 250)}`
