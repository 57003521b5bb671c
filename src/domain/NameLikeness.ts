// What a name that somebody chose for themselves looks like: its skeleton, what it hides, whom it imitates. Names grant
// nothing; this says where a reader could be taken in. It follows the idea of UTS 39 and not its whole tables: compatibility
// forms, marks, invisible characters, and the letters of other alphabets that read as Latin ones.
import { Schema } from "effect"
import { UserId } from "./Ids.ts"
import { nameSkeleton } from "./Roster.ts"

/** Why a display name is not to be taken at its word. `like`: whose name it imitates. */
export const NameDoubt = Schema.Struct({
  problem: Schema.Literal("imitates", "hidden-characters", "mixed-alphabets"),
  like: Schema.NullOr(UserId)
})
export type NameDoubt = typeof NameDoubt.Type

/** Pairs of a letter and the Latin letters it reads as, in the common typefaces. */
const lookAlikes: ReadonlyMap<string, string> = new Map(
  [
    // Cyrillic
    "аa еe оo рp сc уy хx іi јj ѕs һh ԁd ԛq ԝw ӏl кk мm тt нh вb гr ѵv ьb үy",
    "АA ВB ЕE ЅS ІI ЈJ КK МM НH ОO РP СC ТT УY ХX ҮY ԚQ ԜW ԌG ѴV ӀI",
    // Greek
    "αa βb γy εe ηn ιi κk νv οo ρp τt υu χx ωw μu σo ςc",
    "ΑA ΒB ΕE ΖZ ΗH ΙI ΚK ΜM ΝN ΟO ΡP ΤT ΥY ΧX ϹC ϲc ϳj",
    // Armenian
    "օo սu հh ոn ցg յj տs ՏS ԼL ՕO ՍU",
    // Cherokee
    "ᎪA ᎠD ᎡR ᎢT ᎬE ᎳW ᎷM ᎻH ᏀG ᎱG ᏒR ᏔW ᏚS ᏕS ᏞL ᏟC ᏢP ᏦK ᏴB ᏙV ᏃZ ᎫJ",
    // Latin letters and signs that are no ASCII
    "ıi ɩi ɪi ɑa ɡg ǀl |l ɴn ʀr ʙb ʜh ʟl ᴀa ᴄc ᴅd ᴇe ᴊj ᴋk ᴍm ᴏo ᴘp ᴛt ᴜu ᴠv ᴡw ᴢz"
  ].flatMap((pairs) => pairs.split(" ")).map((pair) => [pair.slice(0, -1), pair.slice(-1)] as const)
)

const replaced = (text: string): string => [...text].map((letter) => lookAlikes.get(letter) ?? letter).join("")

const unread = /[^\p{L}\p{N}]/gu

/**
 * What two names share when people could take one for the other. For a registered name it is the skeleton that is unique in
 * the instance. Not for showing.
 */
export const displaySkeleton = (name: string): string => {
  const letters = name.normalize("NFKD")
  const folded = replaced(replaced(letters).toLowerCase().normalize("NFKD")).toLowerCase()
  return nameSkeleton(folded.replaceAll(unread, ""))
}

const emoji = /\p{RGI_Emoji}/gv

const readsAsLatin = ["Latin", "Greek", "Cyrillic", "Armenian", "Cherokee"].map((script) => `\\p{Script=${script}}`)
const ownLetter = `[[\\p{L}\\p{M}]--[${readsAsLatin.join("")}]]`

/** Joiners that belong to the writing of their own script: between letters of an alphabet that does not read as Latin. */
const properJoiner = new RegExp(`(?<=${ownLetter})[\\u200c\\u200d](?=${ownLetter})`, "gv")

/** Unseen, or turning the order of what is seen. */
const hidden = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u

export const hidesCharacters = (name: string): boolean =>
  hidden.test(name.replaceAll(emoji, "").replaceAll(properJoiner, ""))

const alphabets = readsAsLatin.map((script) => new RegExp(script, "u"))

/** Within one word: whoever writes a name twice, in two alphabets, hides nothing. */
export const mixesAlphabets = (name: string): boolean =>
  name.normalize("NFKC").split(/[^\p{L}\p{M}]+/u).some((word) =>
    alphabets.filter((alphabet) => alphabet.test(word)).length > 1
  )

/** The skeletons under which a display name can pass for another's: as a whole, and before a parenthesis. */
export const readsAs = (name: string): ReadonlyArray<string> => {
  const forms = [name, name.normalize("NFKC").split("(")[0] ?? ""].map(displaySkeleton)
  return [...new Set(forms)].filter((form) => form !== "")
}

/** What is doubtful in a name by itself. */
export const doubtIn = (name: string): NameDoubt | null =>
  hidesCharacters(name)
    ? { problem: "hidden-characters", like: null }
    : mixesAlphabets(name)
    ? { problem: "mixed-alphabets", like: null }
    : null
