/** An address of this host for each agent, as agents have: 250 in each of 250 networks of 255. */
export const agentAddress = (at: number): string =>
  `127.${1 + Math.floor(at / 62_500)}.${Math.floor(at / 250) % 250}.${1 + (at % 250)}`
