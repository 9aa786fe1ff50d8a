// What an attack gets to know of the server under attack.

/** The attackers' own, and what they may know of others but neither read nor change. Sent to the attack as JSON. */
export interface Target {
  readonly seed: number
  readonly secs: number // how long the attack lasts
  readonly origin: string
  readonly controlPort: number
  readonly metricsPort: number
  readonly fingerprint: string
  /** For preparations only, for example a rule on the attacker's own client. */
  readonly operatorToken: string
  /** A code that makes the attacker's own client, named mallory. */
  readonly enrollmentUri: string
  /** A plain user with one grant: ports 20000 to 20999 of every client, TCP and UDP. */
  readonly tenant: { readonly userId: string; readonly token: string; readonly password: string }
  readonly victim: {
    readonly userId: string
    readonly clientIds: readonly string[]
    readonly ruleIds: readonly string[]
    readonly ports: readonly number[] // listen ports of the rules
  }
}

/** Attacks for `target.secs`. Resolves with what it did, by name; rejects when it saw what it must never see. */
export type Attack = (target: Target) => Promise<Readonly<Record<string, number>>>

export const attacks = ['agent', 'tenant', 'network'] as const
export type AttackName = (typeof attacks)[number]
