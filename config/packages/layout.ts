// Writes an OCI image layout in a tar archive: blobs named by their hashes, and an index. It consists of a few JSON
// files, so no builder and no daemon is needed.
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { epoch, run, version } from './run.ts'

interface Descriptor {
  readonly mediaType: string
  readonly digest: string
  readonly size: number
  readonly platform?: { readonly architecture: string; readonly os: 'linux' }
}

/** The configuration of an image, named as in the image specification. */
export interface Config {
  readonly architecture: string
  readonly config: object
}

export interface Layer {
  /** An uncompressed tar archive, which is deleted. */
  readonly file: string
  readonly comment: string
}

const type = (name: string): string => `application/vnd.oci.image.${name}`
const created = new Date(Number(epoch) * 1000).toISOString().replace('.000Z', 'Z')
const hashOf = (bytes: Buffer): string => `sha256:${createHash('sha256').update(bytes).digest('hex')}`
const pathOf = ({ digest }: Descriptor): string => `blobs/${digest.replace(':', '/')}`

function addBlob(layout: string, mediaType: string, bytes: Buffer): Descriptor {
  const blob = { mediaType, digest: hashOf(bytes), size: bytes.length }
  mkdirSync(join(layout, 'blobs/sha256'), { recursive: true })
  writeFileSync(join(layout, pathOf(blob)), bytes)
  return blob
}

const addJson = (layout: string, mediaType: string, value: object): Descriptor =>
  addBlob(layout, mediaType, Buffer.from(JSON.stringify(value)))

/** Writes the layout of an image for one machine, with its name as Docker reads it. */
export function writeLayout(
  layout: string,
  { architecture, config }: Config,
  layers: readonly Layer[]
): void {
  const ids: string[] = []
  const blobs = layers.map(({ file }) => {
    ids.push(hashOf(readFileSync(file)))
    run('gzip', ['-9n', file])
    const blob = addBlob(layout, type('layer.v1.tar+gzip'), readFileSync(`${file}.gz`))
    rmSync(`${file}.gz`)
    return blob
  })
  const history = layers.map(({ comment }) => ({ created, created_by: comment }))
  const image = {
    created,
    architecture,
    os: 'linux',
    config,
    rootfs: { type: 'layers', diff_ids: ids },
    history
  }
  const configBlob = addJson(layout, type('config.v1+json'), image)
  const mediaType = type('manifest.v1+json')
  const manifest = { schemaVersion: 2, mediaType, config: configBlob, layers: blobs }
  const platform = { architecture, os: 'linux' as const }
  writeIndex(layout, { ...addJson(layout, mediaType, manifest), platform })
  const docker = { Config: pathOf(configBlob), RepoTags: [`sluice:${version}`], Layers: blobs.map(pathOf) }
  writeFileSync(join(layout, 'manifest.json'), JSON.stringify([docker]))
}

/** Joins the archives of single-machine images in one layout; its index names them. */
export function joinLayouts(layout: string, archives: readonly string[]): void {
  const manifests = archives.map(file => {
    run('tar', ['-xf', file, '-C', layout])
    const text = readFileSync(join(layout, 'index.json'), 'utf8')
    const [{ annotations: _, ...manifest }] = (JSON.parse(text) as Index).manifests
    return manifest
  })
  rmSync(join(layout, 'manifest.json'))
  const mediaType = type('index.v1+json')
  writeIndex(layout, addJson(layout, mediaType, { schemaVersion: 2, mediaType, manifests }))
}

interface Index {
  readonly manifests: readonly [Descriptor & { readonly annotations: object }]
}

function writeIndex(layout: string, descriptor: Descriptor): void {
  const annotations = {
    'org.opencontainers.image.ref.name': version,
    'io.containerd.image.name': `docker.io/library/sluice:${version}`
  }
  const manifests = [{ ...descriptor, annotations }]
  const index = { schemaVersion: 2, mediaType: type('index.v1+json'), manifests }
  writeFileSync(join(layout, 'index.json'), JSON.stringify(index))
  writeFileSync(join(layout, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }))
}

/** Packs a layout, and deletes it. */
export function packLayout(layout: string, file: string): string {
  tar(file, layout, ['.'])
  rmSync(layout, { recursive: true })
  return file
}

interface Owner {
  readonly mode: 'create' | 'append'
  readonly user: number
}

/** Writes files of a folder to a tar archive, or appends them. The same files make the same archive. */
export function tar(
  file: string,
  dir: string,
  words: readonly string[],
  { mode, user }: Owner = { mode: 'create', user: 0 }
): void {
  const same = ['--format=gnu', '--sort=name', '--numeric-owner', `--mtime=@${epoch}`]
  const owner = [`--owner=${user}`, `--group=${user}`]
  run('tar', [...same, ...owner, `--${mode}`, '--file', file, '--directory', dir, ...words])
}
