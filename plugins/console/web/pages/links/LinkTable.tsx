import { type ReactNode, useState } from 'react'
import { useRight } from '../../api/rights.ts'
import { Dialog } from '../../parts/dialog/Dialog.tsx'
import { RowMenu } from '../../parts/RowMenu.tsx'
import { actionsColumn } from '../../parts/table/columns.tsx'
import { Table } from '../../parts/table/Table.tsx'
import { text } from '../../text/text.ts'
import { EditLink } from './EditLink.tsx'
import { linkColumns, nameOf } from './link-columns.tsx'
import type { Link } from './queries.ts'
import { TestLink } from './TestLink.tsx'

interface Props {
  readonly links: readonly Link[]
  readonly empty: ReactNode
}

interface OpenDialog {
  readonly what: 'settings' | 'test'
  readonly link: Link
}

const titles = { settings: text.links.settingsTitle, test: text.links.testTitle }

/** Links, with their settings and a test for those who manage clients. */
export function LinkTable({ links, empty }: Props) {
  const [dialog, setDialog] = useState<OpenDialog | null>(null)
  const mayChange = useRight('managesAll')
  const close = (): void => setDialog(null)
  const actions = (link: Link) => (
    <RowMenu
      row={nameOf(link)}
      actions={(['settings', 'test'] as const).map(what => ({
        label: text.links[what],
        run: () => setDialog({ what, link })
      }))}
    />
  )
  return (
    <>
      <Table
        name="links"
        what={text.links.what}
        rows={links}
        columns={mayChange ? [...linkColumns, actionsColumn(actions, 3)] : linkColumns}
        idOf={({ link_id }) => link_id}
        empty={empty}
      />
      <Dialog
        isOpen={dialog !== null}
        onClose={close}
        size={dialog?.what === 'test' ? 'xl' : 'md'} // figures side by side
        title={dialog ? titles[dialog.what](nameOf(dialog.link)) : ''}
      >
        {dialog?.what === 'settings' && <EditLink link={dialog.link} onDone={close} />}
        {dialog?.what === 'test' && <TestLink link={dialog.link} />}
      </Dialog>
    </>
  )
}
