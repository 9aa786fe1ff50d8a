// Converts configurations of other forwarders into a document of `apply` and a report.
import { stringify } from 'smol-toml'
import { Conversion } from './conversion.ts'
import type { Report } from './report.ts'
import { type Environment, readSourceFile, type SourceFile } from './source-file.ts'
import { convertFrp } from './sources/frp.ts'
import { convertGost } from './sources/gost.ts'
import { convertHaproxy } from './sources/haproxy.ts'
import { convertIptables } from './sources/iptables.ts'
import { convertNginx } from './sources/nginx.ts'
import { convertRathole } from './sources/rathole.ts'
import { convertRealm } from './sources/realm.ts'

const sources = {
  frp: convertFrp,
  gost: convertGost,
  haproxy: convertHaproxy,
  iptables: convertIptables,
  nginx: convertNginx,
  rathole: convertRathole,
  realm: convertRealm
} satisfies Record<
  string,
  (files: readonly SourceFile[], conversion: Conversion, environment: Environment) => void
>

export type SourceName = keyof typeof sources

interface Options {
  readonly source: SourceName
  readonly files: readonly string[] // `-` is standard input
  readonly client: string | undefined // of all rules; default: the name of the file without its end
  readonly exit?: string | undefined // of all rules: the client that dials the targets; default: as the source says
  readonly environment?: Environment // for the templates of a source
  readonly owner: string | undefined
}

interface Converted {
  readonly rules: readonly Readonly<Record<string, unknown>>[] // entries of [[rules]]
  readonly report: Report
}

/** Returns the document; an empty one without rules, so that `apply --prune` removes nothing. */
export function formatDocument(rules: Converted['rules'], format: 'toml' | 'json'): string {
  const document = rules.length > 0 ? { rules } : {}
  return format === 'json' ? JSON.stringify(document, null, 2) : stringify(document).trimEnd()
}

/** The same input gives the same result. Throws `import_invalid`. */
export function convert({ source, files, client, exit, owner, environment = {} }: Options): Converted {
  const conversion = new Conversion({ client, exit, owner })
  const read = files.map(readSourceFile)
  sources[source](read, conversion, environment)
  const { rules } = conversion
  const rows = conversion.verdicts.rows()
  const given = read.map(({ name }) => name)
  return {
    rules,
    report: {
      source,
      files: [...new Set([...given, ...rows.map(({ file }) => file)])],
      clients: conversion.clients(),
      rules: rules.length,
      rows
    }
  }
}
