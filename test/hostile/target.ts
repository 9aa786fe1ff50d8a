// Describes the server under attack to the attacker.

/** The attacker's resources, and ids of others that it must neither read nor change. Sent to the attack as JSON. */
export interface Target {
  readonly seed: number
  readonly secs: number // how long the attack lasts
  readonly origin: string
  readonly controlPort: number
  readonly metricsPort: number
  readonly fingerprint: string
  /** For preparations only, for example a rule on the attacker's own client. */
  readonly operatorToken: string
  /** An enrollment code for the attacker's client, named mallory. */
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

/** Attacks for `target.secs`. Resolves with counts of its actions by name; rejects when it got forbidden data. */
export type Attack = (target: Target) => Promise<Readonly<Record<string, number>>>

export const attacks = ['agent', 'tenant', 'network'] as const
export type AttackName = (typeof attacks)[number]
