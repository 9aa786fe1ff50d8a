import { Button } from '@mantine/core'
import type { ReactNode } from 'react'
import { Link, useLocation } from 'wouter'
import { Dialog } from '../dialog/Dialog.tsx'
import { PageHead } from './PageHead.tsx'

interface Props {
  readonly path: string
  readonly title: string
  readonly addLabel: string
  readonly mayAdd?: boolean
  readonly form: (go: (path: string) => void) => ReactNode // of a new record, at PATH/new
  readonly formSize?: string
  readonly tools?: ReactNode // beside the title
  readonly children: (addButton: ReactNode) => ReactNode
}

/** A list of records, with a dialog for a new one. */
export function ListPage(props: Props) {
  const { path, title, addLabel, mayAdd = true, form, formSize = 'md', tools, children } = props
  const [at, go] = useLocation()
  const addButton = mayAdd && (
    <Button component={Link} href={`${path}/new`}>
      {addLabel}
    </Button>
  )
  return (
    <>
      <PageHead title={title}>
        {tools}
        {addButton}
      </PageHead>
      {children(addButton)}
      <Dialog
        isOpen={mayAdd && at === `${path}/new`}
        onClose={() => go(path)}
        title={addLabel}
        size={formSize}
      >
        {form(go)}
      </Dialog>
    </>
  )
}
