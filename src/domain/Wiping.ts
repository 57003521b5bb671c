// Takes the text of removed events out of an input that may have been given already, and out of its files. Its delivery ID
// and all else stays: this is the one exception to "exact text". Pure, and the same when it is done again.
import { Either, Schema } from "effect"
import { quoted } from "./DeliveryHeader.ts"
import {
  encodeManifest,
  encodeRoom,
  fileFacts,
  ItemsFile,
  Manifest,
  manifestName,
  RoomFile,
  type WrittenFile
} from "./FiledInput.ts"
import type { EventId } from "./Ids.ts"

/** In place of the text of an event that was removed after the input was made. */
export const wipedMarker = "(removed since this input was made)"

const heading = /^── (?:message|edit|reaction|removal|removed message|membership|room name|event) (?<eventId>\$\S+) /u

/** Foreign text stands in lines that start with `|`, right below its heading: no such line can be a heading. */
export const wipeText = (text: string, gone: ReadonlySet<string>): string => {
  let wiping = false
  return text.split("\n").flatMap((line) => {
    if (line.startsWith("|")) return wiping ? [] : [line]
    if (wiping && line === wipedMarker) return []
    const eventId = heading.exec(line)?.groups?.["eventId"]
    wiping = eventId !== undefined && gone.has(eventId)
    return wiping ? [line, wipedMarker] : [line]
  }).join("\n")
}

const decodeRoom = Schema.decodeUnknownEither(Schema.parseJson(RoomFile))
const decodeItems = Schema.decodeUnknownEither(Schema.parseJson(ItemsFile))
const decodeManifest = Schema.decodeUnknownEither(Schema.parseJson(Manifest))

/** The content of one of an input's files, but for its manifest. */
export const wipeFile = (content: string, gone: ReadonlySet<EventId>): string =>
  Either.match(decodeRoom(content), {
    onLeft: () => wipeText(content, gone),
    onRight: (file) =>
      file.records.some(({ eventId }) => gone.has(eventId))
        ? encodeRoom({
          ...file,
          records: file.records.map((record) =>
            gone.has(record.eventId)
              ? { ...record, form: "redacted" as const, text: null, textBytes: 0, removedSince: true as const }
              : record
          )
        })
        : content
  })

const textBytesOf = (content: string): number => {
  const records = Either.getOrNull(decodeRoom(content))?.records ?? Either.getOrNull(decodeItems(content))?.items ?? []
  return records.reduce((sum, { textBytes }) => sum + textBytes, 0)
}

/** The manifest with what its files are now; one that cannot be read stays. */
export const restateManifest = (
  content: string,
  files: ReadonlyArray<WrittenFile & { readonly content: string }>
): string =>
  Either.match(decodeManifest(content), {
    onLeft: () => content,
    onRight: (manifest) => {
      const entries = manifest.files.map((entry) => {
        const file = files.find(({ path }) => path.endsWith(`/${entry.name}`))
        return file === undefined ? entry : { ...entry, bytes: file.bytes, sha256: file.sha256 }
      })
      return encodeManifest({
        ...manifest,
        files: entries,
        totals: {
          ...manifest.totals,
          textBytes: files.reduce((sum, file) => sum + textBytesOf(file.content), 0),
          fileBytes: entries.reduce((sum, entry) => sum + entry.bytes, 0)
        }
      })
    }
  })

export const isManifest = (path: string): boolean => path.endsWith(`/${manifestName}`)

const facts = /^ \(\d+ bytes, SHA-256 [0-9a-f]+\)/u

/** An input's text with the size and hash that these files have now, wherever it names one by its path. */
export const restateFiles = (text: string, files: ReadonlyArray<WrittenFile>): string =>
  files.reduce((shown, file) => {
    const path = quoted(file.path)
    return shown.split("\n").map((line) => {
      const at = line.startsWith("|") ? -1 : line.indexOf(`${path} (`)
      if (at < 0) return line
      const rest = line.slice(at + path.length)
      return `${line.slice(0, at)}${path}${rest.replace(facts, () => ` (${fileFacts(file)})`)}`
    }).join("\n")
  }, text)
