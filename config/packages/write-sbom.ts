import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { basename } from 'node:path'
import { Enums, Models, Serialize, SPDX, Spec } from '@cyclonedx/cyclonedx-library'
import { type Part, sha256Of } from './program-contents.ts'
import { epoch, version } from './run.ts'

/** Writes the list of components of a package beside it, as CycloneDX 1.6. Returns its path. The same package has the same list. */
export function writeSbom(file: string, parts: readonly Part[], kind: Part['kind'] = 'application'): string {
  const sha256 = sha256Of(file)
  const name = basename(file)
  const subject = componentOf({ kind, name, version, license: 'Apache-2.0', sha256 }, 'package')
  const components = sorted(parts).map((part, i) => componentOf(part, `part-${i + 1}`))
  for (const { bomRef } of components) subject.dependencies.add(bomRef)
  const bom = new Models.Bom({
    serialNumber: `urn:uuid:${uuidOf(sha256)}`,
    metadata: new Models.Metadata({ timestamp: new Date(Number(epoch) * 1000), component: subject }),
    components: new Models.ComponentRepository(components)
  })
  const normalizers = new Serialize.JSON.Normalize.Factory(Spec.Spec1dot6)
  const text = new Serialize.JsonSerializer(normalizers).serialize(bom, { sortLists: true, space: 2 })
  const path = `${file}.cdx.json`
  writeFileSync(path, `${text}\n`)
  return path
}

const keyOf = ({ name, version = '', note = '' }: Part): string => `${name} ${version} ${note}`
const sorted = (parts: readonly Part[]): Part[] => {
  const unique = new Map(parts.map(part => [keyOf(part), part]))
  return [...unique].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, part]) => part)
}

const types: Readonly<Record<Part['kind'], Enums.ComponentType>> = {
  application: Enums.ComponentType.Application,
  container: Enums.ComponentType.Container,
  file: Enums.ComponentType.File,
  library: Enums.ComponentType.Library,
  platform: Enums.ComponentType.Platform
}

function componentOf(part: Part, bomRef: string): Models.Component {
  const { kind, name, version, license, purl, sha256, note, parts = [] } = part
  return new Models.Component(types[kind], name, {
    bomRef,
    ...(version !== undefined && { version }),
    ...(purl !== undefined && { purl }),
    ...(note !== undefined && { description: note }),
    ...(license !== undefined && { licenses: new Models.LicenseRepository([licenseOf(license)]) }),
    ...(sha256 !== undefined && {
      hashes: new Models.HashDictionary([[Enums.HashAlgorithm['SHA-256'], sha256]])
    }),
    components: new Models.ComponentRepository(
      sorted(parts).map((inner, i) => componentOf(inner, `${bomRef}-${i + 1}`))
    )
  })
}

function licenseOf(text: string) {
  if (SPDX.isSupportedSpdxId(text)) return new Models.SpdxLicense(text)
  return / (OR|AND|WITH) /.test(text) ? new Models.LicenseExpression(text) : new Models.NamedLicense(text)
}

/** Returns a name-based UUID (version 8). */
function uuidOf(name: string): string {
  const hex = createHash('sha256').update(name).digest('hex')
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20, 32)
  ].join('-')
}
